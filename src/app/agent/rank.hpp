/// The pod's first process: takes the code, sets it up, waits for its peers, runs the ranks of its
/// node and ends them as told or by their limits, and leaves the record of how it went where the
/// kubelet reads it. What ranks write becomes the pod's log. Also works where it is not the first
/// process.
#pragma once
#include <string>

#include "app/agent/barrier.hpp"
#include "app/agent/places.hpp"
#include "app/agent/pull.hpp"
#include "base/error.hpp"
#include "base/time.hpp"
#include "core/model/plan.hpp"

namespace muster::agent {

inline constexpr int kNeverStarted = 125;

struct RankOptions {
  std::string plan_file;
  int index = 0;
  std::string termination_log;  // written where it is there
  Places places;
  Environment image;  // the variables of this process
  Duration barrier = std::chrono::minutes(10);
  int barrier_port = kBarrierPort;
  int code_port = kCodePort;                 // where the first node gives its code to the others
  Duration code = std::chrono::minutes(10);  // how long a stream of code is waited for
};

/// The exit code: 0 when every rank succeeded; else that of the rank that failed first, 128 and the
/// signal when one ended it; 143 when the pod was told to end or its time was over; 125 when
/// nothing could be started. An error means that too: there was no plan to run.
Result<int> run_rank(const RankOptions& options);

}  // namespace muster::agent
