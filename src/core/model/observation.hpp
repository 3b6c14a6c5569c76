/// What a backend saw of one attempt on one node. The only arrow back into the engine.
/// Unreachable is not failed; unknown is not gone.
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "core/model/job.hpp"

namespace muster {

/// No trace of it, and it is certain that none is coming unless it is launched (again).
struct NotStarted {};
/// The leased master port is taken by somebody else; nothing was started.
struct PortTaken {
  int port = 0;
};
/// It lives. `failed_rank` >= 0 tells that a rank has failed although the node has not ended yet.
struct Alive {
  AttemptState state = AttemptState::running;  // preparing, barrier, running, stopping
  int failed_rank = -1;
};
struct Ended {
  ExitRecord record;
};
/// It is gone and left no record; nothing of it remains.
struct Lost {
  Cause cause = Cause::lost;  // lost, host_reboot, never_started
  std::string evidence;
};
/// It cannot be seen just now.
struct Unreachable {
  std::string why;
};

using Sight = std::variant<NotStarted, PortTaken, Alive, Ended, Lost, Unreachable>;

struct Observation {
  AttemptRef ref;
  int node = 0;
  Sight sight;
};

struct Inventory {
  std::vector<Node> nodes;
};

}  // namespace muster
