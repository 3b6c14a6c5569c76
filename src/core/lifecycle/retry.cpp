#include "core/lifecycle/retry.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "core/lifecycle/apply.hpp"

namespace muster::lifecycle {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
constexpr Duration kLongest = minutes(5);

int spent_of(const Job& job, Budget budget) {
  switch (budget) {
    case Budget::user: return job.spent.user;
    case Budget::memory: return job.spent.memory;
    case Budget::hang: return job.spent.hang;
    case Budget::infrastructure: return job.spent.infrastructure;
    case Budget::eviction: return job.spent.eviction;
    case Budget::none: break;
  }
  return 0;
}

Duration ran_for(const Attempt& attempt) {
  if (!attempt.started_at || !attempt.ended_at) return Duration(0);
  return *attempt.ended_at - *attempt.started_at;
}

JobState final_state(Cause cause) {
  if (cause == Cause::success) return JobState::succeeded;
  return cause == Cause::cancelled ? JobState::cancelled : JobState::failed;
}

}  // namespace

Duration back_off(Budget budget, int spent, Duration ran_for) {
  const bool is_platform = budget == Budget::infrastructure || budget == Budget::eviction;
  const int step = ran_for >= kLongest ? 0 : spent;
  if (is_platform && step == 0) return Duration(0);
  const Duration first = is_platform ? Duration(seconds(1)) : Duration(seconds(10));
  const int doublings = std::min(is_platform ? step - 1 : step, 12);
  return std::min(first * (std::int64_t{1} << doublings), kLongest);
}

EventBody next_step(const Job& job, RunTime now) {
  MUSTER_CHECK(job.live && job.live->state == AttemptState::ended, "job {} has no ended attempt",
               job.id.str());
  const auto& attempt = *job.live;
  const Budget budget = row_of(attempt.cause).budget;
  const bool again = job.cancelled_by.empty() && has_budget(job, budget);
  if (again)
    return Requeued{.budget = budget,
                    .not_before = now + back_off(budget, spent_of(job, budget), ran_for(attempt))};
  return Finished{.state = final_state(attempt.cause),
                  .cause = attempt.cause,
                  .exit_code = attempt.exit_code,
                  .signal = attempt.signal};
}

}  // namespace muster::lifecycle
