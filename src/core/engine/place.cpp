/// The scheduling cycle: strict FIFO within priority, gangs all or nothing.
#include <algorithm>

#include "core/engine/world.hpp"

namespace muster::engine {
namespace {

constexpr int kFirstPort = 20'000;
constexpr int kPorts = 9'000;
/// In a pod of its own rank 0 has all ports to itself.
constexpr int kClusterPort = 29'500;

}  // namespace

/// A port no live attempt holds, going round so that a port just given back rests a while.
int Engine::World::lease_port() {
  for (int tried = 0; tried < kPorts; ++tried) {
    const int port = kFirstPort + next_port;
    next_port = (next_port + 1) % kPorts;
    if (!ports.contains(port)) return port;
  }
  return 0;
}

/// Two gangs that get half of their nodes each would wait for ever: where the cluster places, one
/// is let in at a time, until it has all of them. What they do next, pulling an image, takes none.
bool Engine::World::must_wait_for_gang(const Job& job) const {
  if (job.request.nodes == 1 || !view.places_itself(job.cluster)) return false;
  return std::any_of(live.begin(), live.end(), [&](JobSeq seq) {
    const auto& other = jobs.at(seq);
    return other.cluster == job.cluster && other.request.nodes > 1 && !has_its_nodes(*other.live);
  });
}

/// Places the head of the queue, or tells that it does not fit now.
bool Engine::World::place_next(std::set<QueueKey>& queue) {
  Job& job = jobs.at(queue.begin()->seq);
  if (must_wait_for_gang(job)) return false;
  const auto placements = sched::place(view, job.cluster, job.request);
  const bool is_open = view.places_itself(job.cluster);
  const int port = !placements ? 0 : is_open ? kClusterPort : lease_port();
  if (port == 0) return false;
  const int attempt = job.attempts + 1;
  emit(job, Placed{.attempt = attempt, .epoch = attempt, .placements = *placements, .port = port});
  watches[job.seq].launches = 1;
  out.actions.push_back(Launch{ref_of(job, attempt), *placements, port, nullptr});
  return true;
}

void Engine::World::run_cycle() {
  for (auto& [cluster, queue] : ready)
    while (!queue.empty() && place_next(queue)) {
    }
}

}  // namespace muster::engine
