/// What a backend saw, turned into events and into actions still owed. Observations may come twice,
/// late or out of order: only what fits the live attempt counts.
#include <algorithm>

#include "core/engine/world.hpp"
#include "core/lifecycle/classify.hpp"
#include "core/lifecycle/retry.hpp"

namespace muster::engine {
namespace {

/// After this many launches that left no trace, the node is not worth another try.
constexpr int kMaxLaunches = 5;

bool has_ended(const Attempt& attempt, int node) {
  for (const auto& end : attempt.ends)
    if (end.node == node) return true;
  return false;
}

bool has_failed(const NodeEnd& end) {
  if (!end.record || !end.record->killed_by.empty()) return true;
  for (const auto& rank : end.record->ranks)
    if (rank.failed()) return true;
  return false;
}

int failed_rank(const NodeEnd& end) {
  if (end.record)
    for (const auto& rank : end.record->ranks)
      if (rank.failed()) return rank.rank;
  return -1;
}

/// Reads one observation of a job's live attempt.
struct Sighting {
  Engine::World& world;
  Job& job;
  const AttemptRef& ref;
  int node;

  Attempt& attempt() const { return *job.live; }
  int nodes() const { return static_cast<int>(attempt().placements.size()); }
  bool is_stopping() const { return !job.cancelled_by.empty() || attempt().stop_asked; }
  void stop(std::string why, Duration grace) const {
    world.out.actions.push_back(Stop{ref, nodes(), std::move(why), grace});
  }
  void stop_again() const { stop(job.cancelled_by.empty() ? "gang" : "abort", job.grace); }

  void operator()(const NotStarted&) const {
    if (has_ended(attempt(), node) || attempt().state == AttemptState::running) return;
    auto& watch = world.watches[job.seq];
    if (is_stopping()) return stop_again();
    if (watch.launches >= kMaxLaunches)
      return stop("never_started: it left no trace after several launches", Duration(0));
    ++watch.launches;
    world.out.actions.push_back(Launch{ref, attempt().placements, attempt().port, nullptr});
  }

  void operator()(const PortTaken& taken) const {
    if (has_ended(attempt(), node) || attempt().state == AttemptState::running) return;
    if (is_stopping()) return stop_again();
    // Either the lease has moved on and the launch has not, or others run with this port already.
    if (attempt().port != taken.port || !attempt().ends.empty()) return (*this)(NotStarted{});
    const int port = world.lease_port();
    if (port == 0) return stop("never_started: no free port for MASTER_PORT", Duration(0));
    world.emit(job, PortMoved{.attempt = ref.attempt, .port = port});
    world.out.actions.push_back(Launch{ref, attempt().placements, port, nullptr});
  }

  void operator()(const Alive& alive) const {
    if (has_ended(attempt(), node)) return;
    auto& watch = world.watches[job.seq];
    if (alive.state == AttemptState::running || alive.state == AttemptState::stopping)
      watch.running_nodes.insert(node);
    if (alive.waits_for)
      watch.waits_for[node] = *alive.waits_for;
    else
      watch.waits_for.erase(node);
    const bool all_run = std::ssize(watch.running_nodes) + std::ssize(attempt().ends) >= nodes();
    if (all_run && !attempt().started_at) world.emit(job, Started{.attempt = ref.attempt});
    if (alive.failed_rank >= 0)
      stop_gang(alive.failed_rank);
    else if (is_stopping() && alive.state != AttemptState::stopping)
      stop_again();
  }

  void operator()(const Ended& ended) const { end({.node = node, .record = ended.record}); }
  void operator()(const Lost& lost) const {
    end({.node = node, .record = std::nullopt, .loss = lost.cause, .evidence = lost.evidence});
  }
  /// Unreachable is not failed: it is told, nothing else.
  void operator()(const Unreachable& lost) const {
    if (has_ended(attempt(), node)) return;
    world.watches[job.seq].waits_for[node] = {.code = lost.code, .text = lost.why, .fix = lost.fix};
  }

  /// One of a gang failed: the rest cannot go on without it.
  void stop_gang(int rank) const {
    if (nodes() == 1 || attempt().stop_asked) return;
    world.emit(job, GangStopped{.attempt = ref.attempt, .first_failed_rank = rank});
    stop("gang", job.grace);
  }

  /// Told once: when every node is known, or when the attempt is over and no more will be.
  void seat(const NodeName& where, bool is_last) const {
    auto& seats = world.watches[job.seq].seats;
    if (!where.str().empty()) seats[node] = where;
    const auto& placements = attempt().placements;
    const bool is_open = std::any_of(placements.begin(), placements.end(),
                                     [](const auto& one) { return one.node == kOpenNode; });
    const bool is_whole = std::ssize(seats) == nodes() || (is_last && !seats.empty());
    if (!is_open || !is_whole) return;
    Seated seated{.attempt = ref.attempt, .nodes = {}};
    for (int i = 0; i < nodes(); ++i)
      seated.nodes.push_back(seats.contains(i) ? seats.at(i) : kOpenNode);
    seats.clear();
    world.emit(job, std::move(seated));
  }

  void end(const NodeEnd& node_end) const {
    world.out.actions.push_back(Acknowledge{ref, node});
    if (has_ended(attempt(), node)) return;
    world.watches[job.seq].waits_for.erase(node);
    std::vector<NodeEnd> ends = attempt().ends;
    ends.push_back(node_end);
    if (std::ssize(ends) < nodes()) {
      world.emit(job, NodeEnded{.attempt = ref.attempt, .end = node_end});
      if (has_failed(node_end)) stop_gang(failed_rank(node_end));
      return;
    }
    seat({}, true);
    world.emit(job, lifecycle::classify(job, attempt(), ends));
    world.emit(job, lifecycle::next_step(job, world.now.run));
  }
};

}  // namespace

void Engine::World::take(const Seen& seen) {
  const auto& [ref, node, sight, where] = seen.observation;
  const auto found = jobs.find(ref.seq);
  const bool is_live =
      found != jobs.end() && found->second.live && found->second.live->n == ref.attempt;
  if (!is_live) {
    // An attempt that has ended here must not live there: the epoch is over.
    if (std::holds_alternative<Alive>(sight))
      out.actions.push_back(Stop{ref, node + 1, "fence", Duration(0)});
    if (std::holds_alternative<Ended>(sight) || std::holds_alternative<Lost>(sight))
      out.actions.push_back(Acknowledge{ref, node});
    return;
  }
  const Sighting sighting{*this, found->second, ref, node};
  if (!where.str().empty()) sighting.seat(where, false);
  std::visit(sighting, sight);
}

void Engine::World::take(const InventorySeen& seen) {
  const bool is_same = seen.inventory.nodes == inventory.nodes &&
                       seen.inventory.self_placing == inventory.self_placing;
  if (is_same && !inventory.nodes.empty()) return;
  inventory = seen.inventory;
  view = sched::with_inventory(inventory, holders());
  for (const auto& [seq, job] : jobs)
    if (job.state == JobState::queued) {
      dequeue(job);
      enqueue(job);
    }
}

}  // namespace muster::engine
