#include "core/tree/pack.hpp"

#include <zstd.h>

#include <algorithm>

#include "base/check.hpp"
#include "base/hash.hpp"
#include "core/tree/wire.hpp"

namespace muster::tree {
namespace {

constexpr std::string_view kMagic = "MUSTPACK";
constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kLeastBlockRow = 2 + 8;                // two sizes, the check
constexpr std::size_t kLeastChunkRow = 32 + 3;               // the hash, three numbers
constexpr std::string_view kZstdMagic = "\x28\xB5\x2F\xFD";  // of a frame, little-endian

/// Blocks stand one behind the other, so none can overlap another and none can reach the tables.
Result<std::vector<Block>> read_blocks(Cursor& in, std::uint64_t end) {
  const auto count = in.varint();
  if (count > in.left() / kLeastBlockRow)
    return fail(Kind::corrupt, "the pack's tables are cut off: more blocks than follow");
  std::vector<Block> blocks;
  blocks.reserve(count);
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto stored = in.varint();
    const auto size = in.varint();
    const auto check = in.u64();
    if (stored == 0 || stored > size || size > kMostBlock || stored > end - at)
      return fail(Kind::corrupt, fmt::format("block {} of the pack has impossible sizes", i));
    blocks.push_back({.offset = at,
                      .stored = static_cast<std::uint32_t>(stored),
                      .size = static_cast<std::uint32_t>(size),
                      .check = check});
    at += stored;
  }
  if (at != end) return fail(Kind::corrupt, "the pack's blocks do not reach up to its tables");
  return blocks;
}

Result<std::vector<ChunkPlace>> read_chunks(Cursor& in, const std::vector<Block>& blocks) {
  const auto count = in.varint();
  if (count > in.left() / kLeastChunkRow)
    return fail(Kind::corrupt, "the pack's tables are cut off: more chunks than follow");
  std::vector<ChunkPlace> chunks;
  chunks.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto hash = in.hash();
    const auto block = in.varint();
    const auto offset = in.varint();
    const auto size = in.varint();
    if (block >= blocks.size() || size == 0 || size > blocks[block].size ||
        offset > blocks[block].size - size)
      return fail(Kind::corrupt, fmt::format("chunk {} of the pack is outside its block", i));
    if (!chunks.empty() && hash <= chunks.back().hash)
      return fail(Kind::corrupt, "the pack's chunks are not in order");
    chunks.push_back({.hash = hash,
                      .block = static_cast<std::uint32_t>(block),
                      .offset = static_cast<std::uint32_t>(offset),
                      .size = static_cast<std::uint32_t>(size)});
  }
  return chunks;
}

/// The chunks of a block are all of it: no byte is outside a chunk or counted twice.
bool is_filled(const PackTables& tables) {
  std::vector<std::uint64_t> filled(tables.blocks.size());
  for (const auto& chunk : tables.chunks) filled[chunk.block] += chunk.size;
  return std::equal(filled.begin(), filled.end(), tables.blocks.begin(),
                    [](std::uint64_t sum, const Block& block) { return sum == block.size; });
}

ZSTD_DCtx* decompressor() {
  thread_local const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                                  ZSTD_freeDCtx);
  MUSTER_CHECK(context != nullptr, "no memory for zstd");
  return context.get();
}

}  // namespace

std::string encode(const PackTables& tables) {
  std::string out;
  put_varint(out, tables.blocks.size());
  for (const auto& block : tables.blocks) {
    put_varint(out, block.stored);
    put_varint(out, block.size);
    put_u64(out, block.check);
  }
  put_varint(out, tables.chunks.size());
  for (const auto& chunk : tables.chunks) {
    put_hash(out, chunk.hash);
    put_varint(out, chunk.block);
    put_varint(out, chunk.offset);
    put_varint(out, chunk.size);
  }
  return out;
}

std::string encode(const TablesPlace& place) {
  std::string out(kMagic);
  put_u64(out, kVersion);
  put_u64(out, place.offset);
  put_u64(out, place.size);
  put_hash(out, place.hash);
  return out;
}

Result<TablesPlace> find_tables(std::string_view trailer, std::uint64_t pack_size) {
  Cursor in(trailer);
  if (trailer.size() != kTrailerSize || pack_size < kTrailerSize || in.take(8) != kMagic)
    return fail(Kind::corrupt, "these bytes do not end as a pack does");
  if (in.u64() != kVersion)
    return fail(Kind::usage, "the pack was written by another version of muster",
                "use the version that wrote it, or a newer one");
  const auto offset = in.u64();
  const auto size = in.u64();
  const auto end = pack_size - kTrailerSize;
  if (offset > end || size != end - offset || size > kMostTables)
    return fail(Kind::corrupt, "the pack's tables are not where its end says");
  return TablesPlace{.offset = offset, .size = size, .hash = in.hash()};
}

Result<PackTables> decode_tables(std::string_view bytes, const TablesPlace& place) {
  if (bytes.size() != place.size || hash_of(bytes) != place.hash)
    return fail(Kind::corrupt, "the pack's tables do not have their hash");
  Cursor in(bytes);
  PackTables tables;
  TRY(tables.blocks, read_blocks(in, place.offset));
  TRY(tables.chunks, read_chunks(in, tables.blocks));
  if (in.is_broken() || in.left() != 0)
    return fail(Kind::corrupt, "the pack's tables do not end where they should");
  if (!is_filled(tables)) return fail(Kind::corrupt, "the pack's chunks do not fill its blocks");
  return tables;
}

Result<std::string> open_block(std::string_view stored, const Block& block) {
  if (stored.size() != block.stored || block.size > kMostBlock || xxh3(stored) != block.check)
    return fail(Kind::corrupt, "a block of the pack is damaged");
  if (block.stored == block.size) return std::string(stored);
  // zstd would also read several frames, and those of its first versions by older code: we never
  // write either.
  if (!stored.starts_with(kZstdMagic) ||
      ZSTD_findFrameCompressedSize(stored.data(), stored.size()) != stored.size())
    return fail(Kind::corrupt, "a block of the pack is not one zstd frame");
  std::string bytes(block.size, '\0');
  const auto size =
      ZSTD_decompressDCtx(decompressor(), bytes.data(), bytes.size(), stored.data(), stored.size());
  if (ZSTD_isError(size) != 0)
    return fail(Kind::corrupt,
                fmt::format("a block of the pack does not unpack: {}", ZSTD_getErrorName(size)));
  if (size != block.size) return fail(Kind::corrupt, "a block of the pack has another size");
  return bytes;
}

std::optional<ChunkPlace> find(const PackTables& tables, const Hash& hash) {
  const auto at = std::lower_bound(
      tables.chunks.begin(), tables.chunks.end(), hash,
      [](const ChunkPlace& place, const Hash& wanted) { return place.hash < wanted; });
  if (at == tables.chunks.end() || at->hash != hash) return std::nullopt;
  return *at;
}

}  // namespace muster::tree
