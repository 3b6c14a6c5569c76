/// Runs one node of an attempt from its code to its last process. Single thread: slow work is done
/// by children, so that it can always be told to stop.
#pragma once
#include "app/agent/rank.hpp"
#include "core/model/exit_record.hpp"
#include "edge/process/node_order.hpp"

namespace muster::agent {

/// Returns when nothing of it runs any more and its record is left. An error: it could not begin,
/// or no place took the record.
Result<ExitRecord> supervise(NodeOrder& order, const BarrierPlan& barrier,
                             const RankOptions& options);

}  // namespace muster::agent
