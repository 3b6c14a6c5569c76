/// What a backend saw of one attempt on one node. The only arrow back into the engine.
/// Unreachable is not failed; unknown is not gone.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/model/job.hpp"
#include "core/model/reason.hpp"

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
  std::optional<Reason> waits_for;  // what keeps it from running, when that is known
};
struct Ended {
  ExitRecord record;
};
/// It is gone and left no record; nothing of it remains.
struct Lost {
  Cause cause = Cause::lost;  // lost, host_reboot, never_started
  std::string evidence;
};
/// Codes of reasons that say: nobody knows how it is.
constexpr const char* kUnreachable = "unreachable";  // its backend does not answer
constexpr const char* kNodeLost = "node_lost";       // its node does not

/// It cannot be seen just now.
struct Unreachable {
  std::string why;
  std::string code = kUnreachable;
  std::string fix = "nothing is lost: it is looked at again";
};

using Sight = std::variant<NotStarted, PortTaken, Alive, Ended, Lost, Unreachable>;

struct Observation {
  AttemptRef ref;
  int node = 0;
  Sight sight;
  NodeName where;  // the machine it is on, where the cluster chose it; empty: not known (yet)
};

struct Inventory {
  std::vector<Node> nodes;
  std::set<std::string> self_placing;  // clusters that choose nodes themselves (and may grow)
};

}  // namespace muster
