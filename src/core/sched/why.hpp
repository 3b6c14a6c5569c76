/// Why a queued job waits: computed when somebody asks, from a published view. There is always at
/// least one reason, the first is the one that matters most.
#pragma once
#include <vector>

#include "core/model/reason.hpp"
#include "core/sched/view.hpp"

namespace muster::sched {

struct Question {
  const View& view;
  const std::vector<Holder>& holders;
  const Job& job;
  std::int64_t ahead = 0;  // queued jobs that come first
  Now now;
  bool is_first_enough = false;  // nobody looks at the other reasons
};

std::vector<Reason> why_waiting(const Question& question);

/// Only what will never change by waiting; empty when the job can run some day.
std::vector<Reason> why_never(const View& view, const std::string& cluster, const Request& request);

}  // namespace muster::sched
