/// The supervisor of one node of one attempt. Runs it at most once, keeps its logs, ends it as told
/// or by its limits, leaves nothing of it behind, and records how it ended. Lives on without a
/// server. Single-threaded; made by forking the zygote.
#pragma once
#include "base/unique_fd.hpp"
#include "edge/process/node_order.hpp"

namespace muster {

/// Returns when the attempt has ended here (or was somebody else's, or could not be begun); the
/// value is for _exit(). `slot_lock` is the lock of the order's cgroup slot, kept for life.
int run_shim(NodeOrder order, UniqueFd link, UniqueFd slot_lock = {});

}  // namespace muster
