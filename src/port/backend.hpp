/// Where attempts run. Level-based: look, then make it so. All calls come from the driver's thread;
/// the change hint may come from any thread.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "core/model/action.hpp"
#include "core/model/observation.hpp"

namespace muster {

/// An attempt to look at, and on how many nodes it is.
struct Watched {
  AttemptRef ref;
  int nodes = 1;
};

struct Backend {
  virtual ~Backend() = default;
  /// Nodes and what jobs may have of them.
  virtual Result<Inventory> inventory() = 0;
  /// What is to be seen of these attempts now, every node of each. Attempts it never heard of are
  /// NotStarted, unless that cannot be known (Unreachable).
  virtual Result<std::vector<Observation>> observe(std::span<const Watched> attempts) = 0;
  /// Idempotent by attempt and node. An error means "not done, ask again"; a refusal that will not
  /// change is an observation instead.
  virtual Result<> perform(const Action& action) = 0;
  /// "Look sooner at these": carries no facts. Set once, before anything is performed.
  virtual void on_change(std::function<void(std::vector<AttemptRef>)> hint) = 0;
};

/// Of a backend that sees its attempts from afar: whether it does. Any thread.
struct SeesFromAfar {
  virtual ~SeesFromAfar() = default;
  /// Why nothing can be seen now; empty when it can.
  virtual std::string blindness() const = 0;
};

/// Of a backend whose attempts may fetch their code from here. Any thread.
struct AdmitsPods {
  virtual ~AdmitsPods() = default;
  /// Whether this is the token of a live attempt that runs exactly this snapshot.
  virtual bool may_take(std::string_view token, std::string_view snapshot) const = 0;
};

}  // namespace muster
