#include "edge/tree/verify.hpp"

#include <set>

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

/// One pack, as far as it can be read.
struct CheckedPack {
  std::set<tree::Hash> bad;  // chunks
  std::string why;           // of the first
};

/// Every block and every chunk of one pack. A damaged block costs the chunks in it, no others.
CheckedPack check_pack(BlobStore& blobs, const Pack& pack, Verified& out) {
  CheckedPack checked;
  const auto name = pack_name(pack.name);
  const auto places = in_stored_order(pack);
  auto next = places.begin();
  const auto spoil = [&](const tree::Hash& hash, const std::string& why) {
    checked.bad.insert(hash);
    if (checked.why.empty()) checked.why = why;
  };
  for (std::uint32_t b = 0; b < pack.tables.blocks.size(); ++b) {
    const auto& row = pack.tables.blocks[b];
    const auto stored = blobs.get(name, row.offset, row.stored);
    const auto bytes = stored ? tree::open_block(*stored, row)
                              : Result<std::string>(tl::unexpected(stored.error()));
    for (; next != places.end() && (*next)->block == b; ++next) {
      const auto& place = **next;
      const auto chunk = bytes ? std::string_view(*bytes).substr(place.offset, place.size) : "";
      if (!bytes)
        spoil(place.hash, to_line(bytes.error()));
      else if (tree::hash_of(chunk) != place.hash)
        spoil(place.hash, fmt::format("chunk {} is damaged", tree::to_hex(place.hash)));
      if (checked.bad.contains(place.hash)) continue;
      ++out.chunks;
      out.bytes += chunk.size();
    }
  }
  return checked;
}

/// Its place is told beside it.
std::string without_place(Error error) {
  error.where.clear();
  return to_line(error);
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
    if (!pack) return report({info.name, without_place(pack.error()), true, false});
    const auto checked = check_pack(blobs_, *pack, out_);
    if (checked.bad.empty()) {
      good_.push_back(std::move(*pack));
      return {};
    }
    std::erase_if(pack->tables.chunks,
                  [&](const auto& place) { return checked.bad.contains(place.hash); });
    out_.faults.push_back({info.name,
                           fmt::format("{}; {} of its chunks are lost, {} are good", checked.why,
                                       checked.bad.size(), pack->tables.chunks.size()),
                           true, false});
    return repair_ ? salvage(*pack) : keep_good(std::move(*pack));
  }

  Result<> keep_good(Pack pack) {
    good_.push_back(std::move(pack));
    return {};
  }

  /// The good chunks of a damaged pack in a new one; the old one goes when that is durable.
  Result<> salvage(const Pack& damaged) {
    Chunks chunks(blobs_, {damaged});
    tree::PackWriter writer;
    for (const auto* place : in_stored_order(damaged)) {
      TRY(const auto bytes, chunks.get(place->hash));
      writer.add(place->hash, bytes);
    }
    if (!writer.is_empty()) {
      const auto done = writer.end();
      TRY_VOID(blobs_.put(pack_name(done.name), done.bytes));
      TRY(auto fresh, read_pack(blobs_, done.name, done.bytes.size()));
      good_.push_back(std::move(fresh));
    }
    return blobs_.remove(pack_name(damaged.name));
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
    if (!read) return report({info.name, without_place(read.error()), false, true});
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
