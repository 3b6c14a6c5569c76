/// Removes what nobody needs any more: from the store of this home, from its restored trees, from
/// its Python environments. One thread.
#pragma once
#include <cstdint>

#include "app/cli/context.hpp"
#include "edge/tree/idle_trees.hpp"

namespace muster {

struct Pruned {
  std::uint64_t snapshots = 0;  // removed
  std::uint64_t bytes = 0;      // by which the store became smaller
  snapshot::Removed trees;      // restored ones
  snapshot::Removed venvs;
  std::uint64_t all_bytes() const { return bytes + trees.bytes + venvs.bytes; }
};

/// A person asks and waits; one is only told what would go; or the server does it by itself, which
/// takes what was not used for long, unless the disk is nearly full.
enum class Pruning { by_hand, only_told, by_server };

/// Stays: what any job of this home runs or ran, what a submit under way holds, the newest snapshot
/// of each folder that was sent in the last 30 days, and the trees and environments of jobs that
/// have not ended or were used lately. Leaves a record of itself.
Result<Pruned> prune_snapshots(Context& context, Pruning how);

/// Of the last time it was done: what went, and when, by the file's time.
std::string record_file(const std::string& home);

}  // namespace muster
