#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "base/check.hpp"
#include "base/hash.hpp"
#include "core/tree/chunker.hpp"
#include "core/tree/pack.hpp"

namespace muster::tree {
namespace {

constexpr int kLevel = 3;
constexpr std::size_t kMostChunkRow = 32 + 3 + 4 + 4;  // of the tables: hash, block, offset, size
constexpr std::size_t kMostBlockRow = 4 + 4 + 8;       // stored, size, check

/// A hash is as good as any other hash of it.
struct FirstBytes {
  std::size_t operator()(const Hash& hash) const {
    std::size_t value = 0;
    std::memcpy(&value, hash.bytes.data(), sizeof value);
    return value;
  }
};

using Compressor = std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)>;

Compressor make_compressor() {
  Compressor context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  MUSTER_CHECK(context != nullptr, "no memory for zstd");
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
  return context;
}

}  // namespace

struct PackWriter::State {
  Compressor compressor = make_compressor();
  std::string scratch;  // where a block is compressed to, before it is known to be smaller
  std::string pack;     // the blocks that are complete
  PackTables tables;    // of these blocks; chunks not sorted yet
  std::string open;     // the block that gathers small chunks
  std::vector<ChunkPlace> in_open;
  std::unordered_set<Hash, FirstBytes> known;

  /// `chunks` lie in `bytes`, and learn here which block that became.
  void put_block(std::string_view bytes, std::vector<ChunkPlace>& chunks) {
    const auto stored = smaller_of(bytes);
    // At once: growing by doubling would hold the pack twice, and then half empty.
    if (pack.empty()) pack.reserve(kPackSize + kMostChunk + kPackChunks * kMostChunkRow);
    for (auto& chunk : chunks) chunk.block = static_cast<std::uint32_t>(tables.blocks.size());
    tables.blocks.push_back({.offset = pack.size(),
                             .stored = static_cast<std::uint32_t>(stored.size()),
                             .size = static_cast<std::uint32_t>(bytes.size()),
                             .check = xxh3(stored)});
    tables.chunks.insert(tables.chunks.end(), chunks.begin(), chunks.end());
    pack += stored;
  }

  /// Compressed when that saves 3 %; else reading it back would cost more than it saves.
  std::string_view smaller_of(std::string_view bytes) {
    scratch.resize(std::max(scratch.size(), ZSTD_compressBound(bytes.size())));
    const auto size = ZSTD_compress2(compressor.get(), scratch.data(), scratch.size(), bytes.data(),
                                     bytes.size());
    MUSTER_CHECK(ZSTD_isError(size) == 0, "zstd does not compress: {}", ZSTD_getErrorName(size));
    return size * 100 <= bytes.size() * 97 ? std::string_view(scratch).substr(0, size) : bytes;
  }

  void close_open() {
    if (open.empty()) return;
    put_block(open, in_open);
    open.clear();
    in_open.clear();
  }
};

PackWriter::PackWriter() : state_(std::make_unique<State>()) {}
PackWriter::~PackWriter() = default;
PackWriter::PackWriter(PackWriter&&) noexcept = default;
PackWriter& PackWriter::operator=(PackWriter&&) noexcept = default;

void PackWriter::add(const Hash& hash, std::string_view chunk) {
  MUSTER_CHECK(!chunk.empty() && chunk.size() <= kMostBlock, "a chunk of {} bytes", chunk.size());
  if (!state_->known.insert(hash).second) return;
  ChunkPlace place{.hash = hash, .size = static_cast<std::uint32_t>(chunk.size())};
  if (chunk.size() >= kBlockSize / 2) {
    std::vector<ChunkPlace> alone{place};
    state_->put_block(chunk, alone);
    return;
  }
  place.offset = static_cast<std::uint32_t>(state_->open.size());
  state_->in_open.push_back(place);
  state_->open += chunk;
  if (state_->open.size() >= kBlockSize) state_->close_open();
}

bool PackWriter::has(const Hash& hash) const { return state_->known.contains(hash); }
bool PackWriter::is_empty() const { return state_->known.empty(); }

std::size_t PackWriter::size() const {
  const auto rows = state_->known.size() * kMostChunkRow +
                    (state_->tables.blocks.size() + 1) * kMostBlockRow + 2 * 5;
  return state_->pack.size() + state_->open.size() + rows + kTrailerSize;
}

bool PackWriter::is_full() const {
  return size() >= kPackSize || state_->known.size() >= kPackChunks;
}

void PackWriter::reuse(std::string bytes) {
  if (!state_->pack.empty()) return;
  bytes.clear();
  state_->pack = std::move(bytes);
}

PackWriter::Done PackWriter::end() {
  state_->close_open();
  auto& tables = state_->tables;
  std::sort(tables.chunks.begin(), tables.chunks.end());
  const auto rows = encode(tables);
  const TablesPlace place{
      .offset = state_->pack.size(), .size = rows.size(), .hash = hash_of(rows)};
  Done done{.name = place.hash, .bytes = std::exchange(state_->pack, {})};
  done.bytes += rows;
  done.bytes += encode(place);
  state_->tables = {};
  state_->known.clear();
  return done;
}

}  // namespace muster::tree
