/// The scheduling cycle: strict FIFO within priority, gangs all or nothing.
#include "core/engine/world.hpp"

namespace muster::engine {
namespace {

constexpr int kFirstPort = 20'000;
constexpr int kPorts = 10'000;

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

/// Places the head of the queue, or tells that it does not fit now.
bool Engine::World::place_next(std::set<QueueKey>& queue) {
  Job& job = jobs.at(queue.begin()->seq);
  const auto placements = sched::place(view, job.cluster, job.request);
  const int port = placements ? lease_port() : 0;
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
