#include "edge/tree/verify.hpp"

#include "base/text.hpp"
#include "edge/tree/manifest_read.hpp"
#include "edge/tree/names.hpp"
#include "edge/tree/stored_order.hpp"

namespace muster::snapshot {
namespace {

Result<std::vector<BlobInfo>> objects(BlobStore& blobs, const std::string& prefix) {
  std::vector<BlobInfo> all;
  TRY_VOID(blobs.list(prefix, [&](const BlobInfo& info) {
    all.push_back(info);
    return true;
  }));
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

/// Every block and every chunk of one pack.
Result<> check_pack(BlobStore& blobs, const Pack& pack, Verified& out) {
  const auto name = pack_name(pack.name);
  const auto places = in_stored_order(pack);
  auto next = places.begin();
  for (std::uint32_t b = 0; b < pack.tables.blocks.size(); ++b) {
    const auto& row = pack.tables.blocks[b];
    TRY(const auto stored, blobs.get(name, row.offset, row.stored));
    TRY(const auto bytes, tree::open_block(stored, row));
    for (; next != places.end() && (*next)->block == b; ++next) {
      const auto chunk = std::string_view(bytes).substr((*next)->offset, (*next)->size);
      if (tree::hash_of(chunk) != (*next)->hash)
        return fail(Kind::corrupt, fmt::format("chunk {} is damaged", tree::to_hex((*next)->hash)));
      ++out.chunks;
      out.bytes += chunk.size();
    }
  }
  return {};
}

class Verifier {
 public:
  Verifier(BlobStore& blobs, bool repair) : blobs_(blobs), repair_(repair) {}

  Result<Verified> run() {
    TRY(const auto lock,
        blobs_.lock(repair_ ? BlobStore::LockKind::exclusive : BlobStore::LockKind::shared));
    TRY(const auto packs, objects(blobs_, "v1/packs/"));
    for (const auto& info : packs) TRY_VOID(look_at_pack(info));
    TRY(const auto trees, objects(blobs_, "v1/trees/"));
    // What is damaged has been told: a snapshot is whole when the good packs have all of it.
    Chunks chunks(blobs_, std::move(good_));
    for (const auto& info : trees) TRY_VOID(look_at_tree(info, chunks));
    return std::move(out_);
  }

 private:
  Result<> look_at_pack(const BlobInfo& info) {
    ++out_.packs;
    const auto hash = hash_in_name(info.name);
    auto pack = hash ? read_pack(blobs_, *hash, info.size)
                     : Result<Pack>(fail(Kind::corrupt, "not the name of a pack"));
    const auto checked =
        pack ? check_pack(blobs_, *pack, out_) : Result<>(tl::unexpected(pack.error()));
    if (!checked) return report({info.name, to_line(checked.error()), true, false});
    good_.push_back(std::move(*pack));
    return {};
  }

  Result<> look_at_tree(const BlobInfo& info, Chunks& chunks) {
    ++out_.trees;
    const auto id = hash_in_name(info.name);
    if (!id) return report({info.name, "not the name of a snapshot", false, true});
    std::vector<Fault> missing;
    const auto read = read_manifest(chunks, *id, [&](const tree::Entry& entry) -> Result<> {
      for (const auto& piece : entry.pieces) {
        if (piece.is_hole) continue;
        TRY(const bool is_there, chunks.has(piece.hash));
        if (!is_there)
          missing.push_back({printable(entry.path),
                             fmt::format("of snapshot {}: its bytes are lost", tree::to_hex(*id)),
                             false, false});
      }
      return {};
    });
    if (!read) return report({info.name, to_line(read.error()), false, true});
    if (missing.empty()) return {};
    out_.faults.insert(out_.faults.end(), missing.begin(), missing.end());
    return report(
        {info.name, fmt::format("{} of its files are lost", missing.size()), false, true});
  }

  Result<> report(Fault fault) {
    const auto name = fault.name;
    out_.faults.push_back(std::move(fault));
    return repair_ ? blobs_.remove(name) : Result<>();
  }

  BlobStore& blobs_;
  bool repair_;
  std::vector<Pack> good_;
  Verified out_;
};

}  // namespace

Result<Verified> verify(BlobStore& blobs, bool repair) { return Verifier(blobs, repair).run(); }

}  // namespace muster::snapshot
