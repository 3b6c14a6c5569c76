/// The engine: a pure step function over jobs that are not final. No I/O, clock, thread or
/// randomness of its own; it cannot tell a real driver from the simulator's. If the commit of a
/// step's events fails, throw the engine away and make a new one from the store.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "core/engine/inbox.hpp"
#include "core/sched/view.hpp"

namespace muster::engine {

/// What the engine starts from: everything that is not final, and the counters.
struct Seedling {
  std::vector<Job> jobs;
  JobSeq last_seq = 0;
  std::int64_t last_event = 0;
  std::uint64_t id_key = 0;
};

class Engine {
 public:
  explicit Engine(Seedling seedling);
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  Outbox step(Now now, std::span<const Input> inbox);

  /// Attempts that have not ended: reference and number of nodes.
  std::vector<std::pair<AttemptRef, int>> live_attempts() const;
  /// On how many nodes this attempt is, if it is a job's live attempt.
  std::optional<int> nodes_of(const AttemptRef& ref) const;
  const sched::View& view() const;
  std::vector<sched::Holder> holders() const;
  std::size_t job_count() const;
  /// Live attempts that do not run yet, and what the cluster says about it.
  std::vector<std::pair<JobSeq, Reason>> waits_for() const;
  /// Queued jobs that no node can hold, with their priorities: others do not wait behind them.
  std::vector<std::pair<int, JobSeq>> passed_over() const;

  struct World;  // the memory; defined in world.hpp for the engine's own files

 private:
  std::unique_ptr<World> world_;
};

}  // namespace muster::engine
