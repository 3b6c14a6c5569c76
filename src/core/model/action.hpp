/// What is to be done to the world. Idempotent, named from job, attempt and node: doing one again
/// after a crash is harmless.
#pragma once
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/model/job.hpp"
#include "core/model/plan.hpp"

namespace muster {

/// Start the attempt on every node that has not started it. The driver adds plan and specification.
struct Launch {
  AttemptRef ref;
  std::vector<Placement> placements;
  int port = 0;
  // Shared with the backend's threads, immutable.
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const JobSpec> spec;
};
/// TERM, grace, KILL on every node of the attempt; on a node that never started, make sure it never
/// will.
struct Stop {
  AttemptRef ref;
  int nodes = 1;
  std::string why;  // "abort", "gang", "never_started: ..."
  Duration grace{0};
};
/// Pass a signal on to the ranks; nothing is recorded.
struct Signal {
  AttemptRef ref;
  int nodes = 1;
  int number = 0;
};
/// The end of the attempt on this node is committed; its supervisor may go.
struct Acknowledge {
  AttemptRef ref;
  int node = 0;
};

using Action = std::variant<Launch, Stop, Signal, Acknowledge>;

}  // namespace muster
