/// From how the ranks of an attempt ended to its cause, with evidence. Counters and our own kill
/// record come before exit codes: 137 means nothing by itself.
#pragma once
#include "core/model/event.hpp"

namespace muster::lifecycle {

/// `ends` holds every node of the attempt.
AttemptEnded classify(const Job& job, const Attempt& attempt, const std::vector<NodeEnd>& ends);

}  // namespace muster::lifecycle
