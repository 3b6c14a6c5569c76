/// What follows an ended attempt: another one, paid from the budget of its cause, or the end.
#pragma once
#include "core/model/event.hpp"

namespace muster::lifecycle {

/// Requeued or Finished. `job.live` is the ended attempt.
EventBody next_step(const Job& job, RunTime now);

/// How long to wait before the next attempt. Eviction and node loss: at once, then 1 s doubling to
/// 5 min; user failures: 10 s doubling to 5 min. An attempt that ran for 5 minutes starts afresh.
Duration back_off(Budget budget, int spent, Duration ran_for);

}  // namespace muster::lifecycle
