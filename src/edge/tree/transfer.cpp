#include "edge/tree/transfer.hpp"

#include "edge/tree/manifest_read.hpp"
#include "edge/tree/names.hpp"
#include "edge/tree/pack_queue.hpp"

namespace muster::snapshot {

Result<Transferred> transfer(BlobStore& from, BlobStore& to, const tree::Hash& id) {
  TRY(const auto stays, from.lock(BlobStore::LockKind::shared));  // nothing is collected meanwhile
  TRY(const auto keeps, to.lock(BlobStore::LockKind::shared));
  const auto known = to.look(tree_name(id));
  if (known) return Transferred{};
  if (known.error().kind != Kind::not_found) return tl::unexpected<Error>(known.error());
  Chunks chunks(from), there(to);
  PackQueue queue(to);
  Transferred done;
  const auto add = [&](const tree::Hash& hash) -> Result<> {
    if (queue.has(hash)) return {};
    TRY(const bool is_there, there.has(hash));
    if (is_there) return {};
    TRY(const auto bytes, chunks.get(hash));
    ++done.chunks;
    return queue.add(hash, std::string(bytes));
  };
  const auto add_entry = [&](const tree::Entry& entry) -> Result<> {
    for (const auto& piece : entry.pieces)
      if (!piece.is_hole) TRY_VOID(add(piece.hash));
    return {};
  };
  TRY(const auto read, read_manifest(chunks, id, add_entry));
  for (const auto& leaf : read.leaves) TRY_VOID(add(leaf.hash));
  TRY_VOID(queue.finish());
  TRY(const auto root, chunks.get_root(id));
  TRY_VOID(to.put(tree_name(id), root));
  done.bytes = queue.stored_bytes() + root.size();
  return done;
}

}  // namespace muster::snapshot
