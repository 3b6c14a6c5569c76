#include "edge/tree/collect.hpp"

#include <set>

#include "edge/tree/hash_set.hpp"
#include "edge/tree/manifest_read.hpp"
#include "edge/tree/names.hpp"
#include "edge/tree/stored_order.hpp"

namespace muster::snapshot {
namespace {

constexpr std::int64_t kPinLife = 24LL * 3600 * 1'000'000;

/// Far from what ends a pack. A pack of tiny chunks has few bytes and is none the less full.
bool is_small(const Pack& pack) {
  return pack.size < tree::kPackSize / 4 && pack.tables.chunks.size() < tree::kPackChunks / 4;
}

class Collector {
 public:
  Collector(BlobStore& blobs, const std::function<bool(const tree::Hash&)>& is_wanted, Removing how)
      : blobs_(blobs), is_wanted_(is_wanted), removes_(how == Removing::really), chunks_(blobs) {}

  Result<Collected> run() {
    TRY(const auto lock,
        blobs_.lock(removes_ ? BlobStore::LockKind::exclusive : BlobStore::LockKind::shared));
    TRY_VOID(read_pins());
    TRY_VOID(look_at_trees());
    // What a damaged snapshot still has is not known, so nothing is taken from it.
    if (out_.damage.empty()) TRY_VOID(look_at_packs());
    return out_;
  }

 private:
  Result<> read_pins() {
    std::vector<BlobInfo> pins;
    TRY_VOID(blobs_.list("v1/pins/", [&](const BlobInfo& info) {
      pins.push_back(info);
      return true;
    }));
    for (const auto& pin : pins) {
      if (pin.age_us > kPinLife) {
        if (removes_) TRY_VOID(blobs_.remove(pin.name));
        continue;
      }
      TRY(const auto text, blobs_.get(pin.name, 0, 64));
      if (const auto id = tree::from_hex(text)) pinned_.insert(*id);
    }
    return {};
  }

  /// Roots go first: what has no root any more has nothing to promise.
  Result<> look_at_trees() {
    std::vector<BlobInfo> trees;
    TRY_VOID(blobs_.list("v1/trees/", [&](const BlobInfo& info) {
      trees.push_back(info);
      return true;
    }));
    for (const auto& info : trees) {
      const auto id = hash_in_name(info.name);
      if (id && (pinned_.contains(*id) || is_wanted_(*id))) {
        const auto marked = mark(*id);
        if (!marked && marked.error().kind != Kind::corrupt) return marked;
        if (!marked) out_.damage = to_line(marked.error());
        continue;
      }
      if (removes_) TRY_VOID(blobs_.remove(info.name));
      ++out_.trees;
      out_.bytes += info.size;
    }
    return {};
  }

  Result<> mark(const tree::Hash& id) {
    TRY(const auto root, read_manifest(chunks_, id, [&](const tree::Entry& entry) -> Result<> {
          for (const auto& piece : entry.pieces)
            if (!piece.is_hole) live_.insert(piece.hash);
          return {};
        }));
    for (const auto& leaf : root.leaves) live_.insert(leaf.hash);
    return {};
  }

  Result<> look_at_packs() {
    std::vector<std::pair<tree::Hash, std::uint64_t>> names;
    TRY_VOID(blobs_.list("v1/packs/", [&](const BlobInfo& info) {
      if (const auto hash = hash_in_name(info.name)) names.emplace_back(*hash, info.size);
      return true;
    }));
    std::uint64_t dead = 0;
    std::vector<Pack> poor;  // less than half alive, or small: worth writing anew, together
    for (const auto& [name, size] : names) {
      auto read = read_pack(blobs_, name, size);
      if (!read && read.error().kind != Kind::corrupt) return tl::unexpected<Error>(read.error());
      if (!read) continue;  // what is in it nobody knows: verify tells, and removes it
      auto& pack = *read;
      std::uint64_t live = 0, total = 0;
      for (const auto& place : pack.tables.chunks) {
        total += place.size;
        if (live_.has(place.hash)) live += place.size;
      }
      if (live == 0) {
        TRY_VOID(remove(pack));
      } else if (live * 2 < total || is_small(pack)) {
        dead += size - size * live / total;
        poor.push_back(std::move(pack));
      } else {
        for (const auto& place : pack.tables.chunks) kept_.insert(place.hash);
      }
    }
    if (poor.size() < 2 && !has_dead(poor)) return {};
    if (removes_) return rewrite(poor);
    out_.bytes += dead;  // what writing them anew would free, about
    return {};
  }

  bool has_dead(const std::vector<Pack>& packs) const {
    for (const auto& pack : packs)
      for (const auto& place : pack.tables.chunks)
        if (!live_.has(place.hash)) return true;
    return false;
  }

  /// The living chunks of poor packs, in new packs; the old ones go when those are durable. What a
  /// pack that stays has as well (somebody was killed in between) is not written again.
  Result<> rewrite(const std::vector<Pack>& poor) {
    tree::PackWriter writer;
    std::set<tree::Hash> made;
    const auto flush = [&]() -> Result<> {
      if (writer.is_empty()) return {};
      auto done = writer.end();
      made.insert(done.name);
      TRY_VOID(blobs_.put(pack_name(done.name), done.bytes));
      writer.reuse(std::move(done.bytes));
      return {};
    };
    for (const auto& pack : poor) {
      for (const auto* place : in_stored_order(pack)) {
        if (!live_.has(place->hash) || !kept_.insert(place->hash)) continue;
        TRY(const auto bytes, chunks_.get(place->hash));
        writer.add(place->hash, bytes);
        if (writer.is_full()) TRY_VOID(flush());
      }
    }
    TRY_VOID(flush());
    for (const auto& pack : poor)
      if (!made.contains(pack.name)) TRY_VOID(remove(pack));
    return {};
  }

  Result<> remove(const Pack& pack) {
    if (removes_) TRY_VOID(blobs_.remove(pack_name(pack.name)));
    ++out_.packs;
    out_.bytes += pack.size;
    return {};
  }

  BlobStore& blobs_;
  const std::function<bool(const tree::Hash&)>& is_wanted_;
  bool removes_;
  Chunks chunks_;
  std::set<tree::Hash> pinned_;
  HashSet live_;
  HashSet kept_;  // chunks of packs that stay or are being written
  Collected out_;
};

}  // namespace

Result<Collected> collect(BlobStore& blobs, const std::function<bool(const tree::Hash&)>& is_wanted,
                          Removing how) {
  return Collector(blobs, is_wanted, how).run();
}

}  // namespace muster::snapshot
