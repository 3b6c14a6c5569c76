/// Where the contract of a backend is played: a world of its own, commands that behave as asked,
/// and a way to let time pass. One file of this folder for each kind of backend.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "edge/backends/kind.hpp"

namespace muster::contract {

enum class Part {
  exits_0,
  exits_3,
  runs_until_stopped,
  ignores_term,
};

class Stage {
 public:
  virtual ~Stage() = default;
  virtual Backend& backend() = 0;
  /// The argv of a command that plays this part.
  virtual std::vector<std::string> command(Part part) const = 0;
  /// A short while passes, in the backend's own time.
  virtual void wait() = 0;
  /// How often rank 0 of this attempt has begun to play its part.
  virtual int starts(const AttemptRef& ref) = 0;
  /// Another object on the same world, as after the death of a server. False: it has no world
  /// outside itself.
  virtual bool reopen() { return false; }
};

/// The nodes that every stage is opened with.
std::vector<Node> stage_nodes();

std::unique_ptr<Stage> local_stage(const BackendKind& kind);
std::unique_ptr<Stage> sim_stage(const BackendKind& kind);

}  // namespace muster::contract
