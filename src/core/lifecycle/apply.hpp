/// Folds events into jobs. Pure; an event that does not fit the job's phase is a broken invariant.
#pragma once
#include <map>
#include <utility>

#include "core/model/event.hpp"

namespace muster::lifecycle {

/// The job as its Submitted event makes it.
Job born(JobSeq seq, WallTime at, const Submitted& submitted);

/// Folds any later event into the job. After AttemptEnded, `live` is the ended attempt until
/// Requeued or Finished takes it away.
void apply(Job& job, WallTime at, const EventBody& body);

/// The fold of a whole history: what the tables must hold.
struct Fold {
  std::map<JobSeq, Job> jobs;
  std::map<std::pair<JobSeq, int>, Attempt> attempts;
  void feed(const Event& event);
};

/// Attempts still allowed from a budget: its limit less what was spent. Eviction has no limit.
bool has_budget(const Job& job, Budget budget);

}  // namespace muster::lifecycle
