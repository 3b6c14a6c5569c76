/// One turn: look up, step, commit, perform, answer. Owned by one thread; the same code under the
/// real loop and under the simulator, which alone own time.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/log.hpp"
#include "core/engine/engine.hpp"
#include "port/backend.hpp"
#include "port/store.hpp"

namespace muster::driver {

/// What a launch needs beside its placements.
struct Equipment {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const JobSpec> spec;
};
/// Looks it up: spec, environment, checkpoint to resume from.
using Equip = std::function<Result<Equipment>(const Launch&)>;

struct DriverDeps {
  Store& store;
  Backend& backend;
  Log& log;
  Equip equip;
};

struct Turn {
  std::vector<engine::Reply> replies;
  std::optional<RunTime> wake;  // come back no later than this
  std::int64_t last_event = 0;  // committed so far
  std::vector<Job> changed;     // rows this turn committed
};

class Driver {
 public:
  explicit Driver(DriverDeps deps);

  /// Never fails: what could not be done is answered with an error and tried again.
  Turn turn(Now now, std::vector<engine::Input> inbox, std::vector<AttemptRef> hints);

  /// The next turn asks for the inventory and looks at every live attempt.
  void look_at_everything() { next_full_look_ = {}; }

  /// The engine, once the store was loaded.
  const engine::Engine* engine() const { return engine_ ? &*engine_ : nullptr; }

 private:
  Result<> load(Now now);
  void look_up_keys(std::vector<engine::Input>& inbox);
  void observe(Now now, std::vector<engine::Input>& inbox, const std::vector<AttemptRef>& hints);
  void perform(Now now, std::vector<Action>& actions);
  void perform_launch(Now now, Launch& launch);
  void look_later(Now now, const AttemptRef& ref);
  std::vector<AttemptRef> due(Now now);

  DriverDeps deps_;
  std::optional<engine::Engine> engine_;
  std::int64_t last_event_ = 0;
  std::multimap<RunTime, AttemptRef> later_;  // look again at these
  std::set<AttemptRef> unseen_;               // were out of sight: looked at again
  RunTime next_unseen_;                       // then
  RunTime next_full_look_;
};

}  // namespace muster::driver
