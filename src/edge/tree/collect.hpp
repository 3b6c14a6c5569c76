/// Removes what nobody refers to any more. Alone in the store while it works; killed anywhere, the
/// next run goes on.
#pragma once
#include <cstdint>
#include <functional>

#include "core/tree/entry.hpp"
#include "edge/tree/idle_trees.hpp"
#include "port/blob.hpp"

namespace muster::snapshot {

struct Collected {
  std::uint64_t trees = 0;  // removed
  std::uint64_t packs = 0;  // removed, rewritten ones included
  std::string damage;       // a snapshot that is wanted and cannot be read: no pack was touched
  std::uint64_t bytes = 0;  // freed
};

/// `is_wanted` tells which snapshots must stay; those that a young pin names stay as well.
/// `unavailable` while somebody sends. Only told: nothing is changed, `bytes` is an estimate, and
/// others may send meanwhile.
Result<Collected> collect(BlobStore& blobs, const std::function<bool(const tree::Hash&)>& is_wanted,
                          Removing how = Removing::really);

}  // namespace muster::snapshot
