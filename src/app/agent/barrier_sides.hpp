/// The two sides of the barrier: who gathers, and who joins. A peer says `TOKEN INDEX`; it is told
/// `go`, or `missing I,J`. Lines of text over TCP.
#pragma once
#include "app/agent/barrier.hpp"

namespace muster::agent {

Result<> gather_peers(const BarrierPlan& plan);
Result<> join_peers(const BarrierPlan& plan);

/// The deadline has passed.
tl::unexpected<Error> fail_missing(const BarrierPlan& plan, const std::vector<int>& missing,
                                   std::string why);

}  // namespace muster::agent
