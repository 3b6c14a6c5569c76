/// How a node of an attempt ended, left where it can be found: in the pod's run folder, and in the
/// termination log.
#pragma once
#include "app/agent/rank.hpp"
#include "core/model/exit_record.hpp"

namespace muster::agent {

/// Fails when neither place took it.
Result<> leave_record(const ExitRecord& record, const AttemptRef& ref, std::int64_t epoch,
                      const RankOptions& options);

int exit_code_of(const ExitRecord& record);

}  // namespace muster::agent
