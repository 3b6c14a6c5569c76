/// Virtual nodes and time: a machine in memory whose processes follow a script. It outlives the
/// driver that uses it, as a real machine outlives a server. Faults come from one seed.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "base/time.hpp"
#include "port/backend.hpp"

namespace muster::sim {

/// What can go wrong here, each as "one in N"; 0: never.
struct Faults {
  std::uint64_t launch_lost = 0;    // the message to the zygote is lost
  std::uint64_t perform_fails = 0;  // an action is refused for now
  std::uint64_t shim_dies = 0;      // a supervisor dies while its ranks run
  std::uint64_t refused = 0;        // a supervisor cannot start (disk full)
  std::uint64_t port_taken = 0;
  std::uint64_t stale_sight = 0;  // an observation is the one before
  std::uint64_t twice = 0;        // an observation comes twice
  std::uint64_t hint_lost = 0;
};

/// argv of a virtual process: {"sim", "run=MS", "exit=CODE", "signal=N", "term=ignore|exit0",
/// "rank=R"}. `exit` and `signal` apply to rank R alone when it is given.
struct Script {
  Duration run{std::chrono::milliseconds(10)};
  int exit = 0;
  int signal = 0;
  int rank = -1;
  bool ignores_term = false;
  bool exits_zero_on_term = false;
};
Result<Script> parse_script(const std::vector<std::string>& argv);

class SimBackend final : public Backend {
 public:
  SimBackend(std::vector<Node> nodes, Faults faults, Rng rng);

  Result<Inventory> inventory() override;
  Result<std::vector<Observation>> observe(std::span<const Watched> attempts) override;
  Result<> perform(const Action& action) override;
  void on_change(std::function<void(std::vector<AttemptRef>)> hint) override;

  /// Lets virtual time pass: processes start, end, die. Hints are given as they happen.
  void advance(RunTime to, WallTime wall);
  /// The next moment at which something happens by itself.
  std::optional<RunTime> next_change() const;
  /// Faults stop; what is under way goes on.
  void calm() { faults_ = {}; }
  /// One node of an attempt goes now, by this loss.
  void lose(const AttemptRef& ref, int node, Lost loss);
  void set_nodes(std::vector<Node> nodes) { nodes_ = std::move(nodes); }

  /// The truth, for oracles: attempts of a job with live processes now, launches that really ran.
  int living(JobSeq job) const;
  int starts(const AttemptRef& ref) const;
  /// Set when two attempts of one job ran at once.
  const std::string& violation() const { return violation_; }

 private:
  struct Name {
    AttemptRef ref;
    int node = 0;
    auto operator<=>(const Name&) const = default;
  };
  /// One supervisor and its ranks.
  struct Shim {
    NodePlan plan;
    Script script;
    Duration time_limit{0};
    RunTime starts;  // the launch arrives then
    RunTime ends;    // its ranks end by themselves then
    std::optional<RunTime> killed_at;
    std::optional<RunTime> dies;  // the supervisor does
    std::string killed_by;
    bool has_started = false;
    std::optional<ExitRecord> record;
    std::optional<Lost> lost;
    std::optional<PortTaken> port_taken;
  };

  void start(const Name& name, Shim& shim);
  void finish(const Name& name, Shim& shim);
  Result<> launch(const Launch& launch);
  Result<> stop(const Stop& stop);
  Sight sight_of(const Name& name) const;
  void hint(const AttemptRef& ref);
  bool strikes(std::uint64_t one_in) { return one_in != 0 && rng_.one_in(one_in); }
  RunTime next_of(const Shim& shim) const;

  std::vector<Node> nodes_;
  Faults faults_;
  Rng rng_;
  RunTime now_;
  WallTime wall_;
  std::map<Name, Shim> shims_;
  std::map<Name, Sight> before_;  // what was seen last, for stale sights
  std::map<AttemptRef, int> starts_;
  std::function<void(std::vector<AttemptRef>)> hint_;
  std::string violation_;
};

}  // namespace muster::sim
