#include "edge/tree/bundle.hpp"

#include "core/tree/wire.hpp"
#include "edge/tree/hash_set.hpp"
#include "edge/tree/manifest_read.hpp"
#include "edge/tree/names.hpp"

namespace muster::snapshot {
namespace {

// The last byte is the version.
constexpr std::string_view kMagic = "MUSBUND1";
constexpr char kPack = 'P';
constexpr char kRoot = 'R';                 // and with it the bundle ends
constexpr std::size_t kPackEnd = 4U << 20;  // a pack is ended when it is this large
constexpr std::uint64_t kMostPack = kPackEnd + tree::kMostBlock + tree::kMostTables;
constexpr std::uint64_t kMostRoot = 256U << 20;

/// Puts chunks into packs and packs into the sink.
class Bundler {
 public:
  Bundler(Chunks& chunks, const Sink& sink) : chunks_(chunks), sink_(sink) {}

  Result<> put(std::string_view bytes) {
    written_ += bytes.size();
    return sink_(bytes);
  }
  Result<> add(const tree::Hash& hash) {
    if (!known_.insert(hash)) return {};
    TRY(const auto bytes, chunks_.get(hash));
    pack_.add(hash, bytes);
    return pack_.size() >= kPackEnd ? end_pack() : Result<>();
  }
  Result<> end(std::string_view root) {
    if (!pack_.is_empty()) TRY_VOID(end_pack());
    return object(kRoot, root);
  }
  std::uint64_t written() const { return written_; }

 private:
  Result<> end_pack() { return object(kPack, pack_.end().bytes); }
  Result<> object(char kind, std::string_view bytes) {
    std::string head(1, kind);
    tree::put_u64(head, bytes.size());
    TRY_VOID(put(head));
    return put(bytes);
  }

  Chunks& chunks_;
  const Sink& sink_;
  HashSet known_;
  tree::PackWriter pack_;
  std::uint64_t written_ = 0;
};

tl::unexpected<Error> damaged(std::string_view why) {
  return fail(Kind::corrupt, fmt::format("the bundle is damaged: {}", why), "send it again");
}

/// Every chunk of a pack is what its name says. Gives the pack's own name.
Result<tree::Hash> check_pack(std::string_view bytes, HashSet& known) {
  if (bytes.size() < tree::kTrailerSize) return damaged("a pack is too short");
  const auto trailer = bytes.substr(bytes.size() - tree::kTrailerSize);
  TRY(const auto place, tree::find_tables(trailer, bytes.size()));
  TRY(const auto tables, tree::decode_tables(bytes.substr(place.offset, place.size), place));
  std::vector<std::vector<const tree::ChunkPlace*>> in_block(tables.blocks.size());
  for (const auto& chunk : tables.chunks) in_block[chunk.block].push_back(&chunk);
  for (std::size_t i = 0; i < tables.blocks.size(); ++i) {
    const auto& block = tables.blocks[i];
    TRY(const auto opened, tree::open_block(bytes.substr(block.offset, block.stored), block));
    for (const auto* chunk : in_block[i]) {
      if (tree::hash_of(std::string_view(opened).substr(chunk->offset, chunk->size)) != chunk->hash)
        return damaged("a chunk's bytes are not what its name says");
      known.insert(chunk->hash);
    }
  }
  return place.hash;
}

class Unbundler {
 public:
  Unbundler(BlobStore& into, const Source& source) : into_(into), source_(source) {}

  Result<tree::Hash> run() {
    TRY(const auto magic, take(kMagic.size()));
    if (magic.empty()) return fail(Kind::not_found, "there is no bundle: not a byte came");
    if (magic != kMagic) return damaged("it does not begin like one");
    for (;;) {
      TRY(const auto head, take(9));
      if (head.size() != 9) return damaged("it is cut off");
      const auto size = tree::Cursor(std::string_view(head).substr(1)).u64();
      const bool is_root = head.front() == kRoot;
      if (!is_root && head.front() != kPack) return damaged("it holds something unknown");
      if (size > (is_root ? kMostRoot : kMostPack)) return damaged("it holds something too large");
      TRY(const auto bytes, take(size));
      if (bytes.size() != size) return damaged("it is cut off");
      if (is_root) return take_root(bytes);
      TRY(const auto name, check_pack(bytes, known_));
      TRY_VOID(into_.put(pack_name(name), bytes));
    }
  }

 private:
  /// Fewer only at the end of the source. Grows with what comes, not with what was announced.
  Result<std::string> take(std::uint64_t size) {
    constexpr std::uint64_t kStep = 1U << 20;
    std::string bytes;
    while (bytes.size() < size) {
      const auto before = bytes.size();
      bytes.resize(before + std::min<std::uint64_t>(kStep, size - before));
      TRY(const auto got, source_(bytes.data() + before, bytes.size() - before));
      bytes.resize(before + got);
      if (got == 0) break;
    }
    return bytes;
  }

  Result<tree::Hash> take_root(const std::string& bytes) {
    TRY(const auto root, tree::decode_root(bytes));
    TRY(const auto rest, take(1));
    if (!rest.empty()) return damaged("more comes after its end");
    Chunks chunks(into_);
    tree::LeafReader reader(root);
    for (const auto& leaf : root.leaves) {
      if (!known_.has(leaf.hash)) return damaged("a part of its list is missing");
      TRY(const auto text, chunks.get(leaf.hash));
      TRY(const auto entries, reader.read(text));
      for (const auto& entry : entries)
        for (const auto& piece : entry.pieces)
          if (!piece.is_hole && !known_.has(piece.hash)) return damaged("a chunk is missing");
    }
    TRY_VOID(reader.finish());
    const auto id = tree::hash_of(bytes);
    TRY_VOID(into_.put(tree_name(id), bytes));
    return id;
  }

  BlobStore& into_;
  const Source& source_;
  HashSet known_;
};

}  // namespace

Result<std::uint64_t> write_bundle(BlobStore& from, const tree::Hash& id, const Sink& sink) {
  TRY(const auto stays, from.lock(BlobStore::LockKind::shared));  // nothing is collected meanwhile
  Chunks chunks(from);
  Bundler bundler(chunks, sink);
  TRY_VOID(bundler.put(kMagic));
  TRY(const auto root, chunks.get_root(id));
  const auto add_entry = [&](const tree::Entry& entry) -> Result<> {
    for (const auto& piece : entry.pieces)
      if (!piece.is_hole) TRY_VOID(bundler.add(piece.hash));
    return {};
  };
  TRY(const auto read, read_manifest(chunks, id, add_entry));
  for (const auto& leaf : read.leaves) TRY_VOID(bundler.add(leaf.hash));
  TRY_VOID(bundler.end(root));
  return bundler.written();
}

Result<tree::Hash> read_bundle(BlobStore& into, const Source& source) {
  return within(Unbundler(into, source).run(), "the bundle of a snapshot");
}

}  // namespace muster::snapshot
