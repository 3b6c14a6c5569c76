/// Removes what nobody needs any more from the store of this home and from its restored trees. One
/// thread.
#pragma once
#include <cstdint>

#include "app/cli/context.hpp"

namespace muster {

struct Pruned {
  std::uint64_t snapshots = 0;  // removed
  std::uint64_t bytes = 0;      // by which the store became smaller
  std::uint64_t trees = 0;      // restored ones, removed
};

/// Stays: what any job of this home runs or ran, what a submit under way holds, the newest snapshot
/// of each folder that was sent in the last 30 days, and the restored trees of jobs that have not
/// ended or were made within the hour.
Result<Pruned> prune_snapshots(Context& context);

}  // namespace muster
