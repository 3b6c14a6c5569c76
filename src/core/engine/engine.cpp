#include "core/engine/engine.hpp"

#include "base/check.hpp"
#include "core/engine/world.hpp"
#include "core/lifecycle/apply.hpp"

namespace muster::engine {

/// Appends the event and folds it into the job; keeps queue, leases and holdings in step.
void Engine::World::emit(Job& job, EventBody body, std::string actor) {
  Event event{.sequence = ++last_event,
              .at = now.wall,
              .actor = std::move(actor),
              .job = job.seq,
              .body = std::move(body)};
  if (!std::holds_alternative<Submitted>(event.body)) {
    if (job.state == JobState::queued) dequeue(job);
    const int old_port = job.live ? job.live->port : 0;
    const auto held = job.live ? job.live->placements : std::vector<Placement>();
    const bool was_live = job.live.has_value();
    lifecycle::apply(job, now.wall, event.body);
    if (std::holds_alternative<AttemptEnded>(event.body))
      out.ended.emplace_back(job.seq, *job.live);
    if (was_live && (!job.live || job.live->port != old_port)) ports.erase(old_port);
    if (job.live) ports.insert(job.live->port);
    if (!was_live && job.live) {
      sched::hold(view, job.cluster, job.live->placements);
      live.insert(job.seq);
    }
    if (was_live && !job.live) {
      sched::release(view, job.cluster, held);
      live.erase(job.seq);
      watches.erase(job.seq);
    }
  }
  if (job.state == JobState::queued) enqueue(job);
  touched.insert(job.seq);
  out.events.push_back(std::move(event));
}

void Engine::World::enqueue(const Job& job) {
  if (job.not_before > now.run)
    delayed.emplace(job.not_before, job.seq);
  else if (!sched::could_ever_fit(view, job.cluster, job.request))
    impossible.insert(job.seq);
  else
    ready[job.cluster].insert({job.priority, job.seq});
}

void Engine::World::dequeue(const Job& job) {
  delayed.erase({job.not_before, job.seq});
  impossible.erase(job.seq);
  ready[job.cluster].erase({job.priority, job.seq});
}

/// Copies the touched rows out; final jobs leave the memory.
void Engine::World::flush_touched() {
  for (const JobSeq seq : touched) {
    const auto found = jobs.find(seq);
    MUSTER_CHECK(found != jobs.end(), "job {} was touched but is not here", seq);
    out.jobs.push_back(found->second);
    if (!is_final(found->second.state)) continue;
    keys.erase({found->second.user, found->second.key});
    jobs.erase(found);
  }
  touched.clear();
}

Engine::Engine(Seedling seedling) : world_(std::make_unique<World>()) {
  world_->last_seq = seedling.last_seq;
  world_->last_event = seedling.last_event;
  world_->id_key = seedling.id_key;
  world_->next_port = static_cast<int>(seedling.last_event % 9'000);
  for (auto& job : seedling.jobs) {
    MUSTER_CHECK(!is_final(job.state), "job {} is final and was loaded", job.id.str());
    if (job.live) {
      world_->ports.insert(job.live->port);
      world_->live.insert(job.seq);
    }
    if (!job.key.empty()) world_->keys[{job.user, job.key}] = job.seq;
    world_->jobs.emplace(job.seq, std::move(job));
  }
  world_->view = sched::with_inventory({}, holders());
  for (const auto& [seq, job] : world_->jobs)
    if (job.state == JobState::queued) world_->enqueue(job);
}

Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

Outbox Engine::step(Now now, std::span<const Input> inbox) {
  auto& world = *world_;
  world.now = now;
  world.out = {};
  // 1. What came in: commands and observations become events.
  for (const auto& input : inbox) std::visit([&](const auto& one) { world.take(one); }, input);
  // 2. Back-offs that are over.
  while (!world.delayed.empty() && world.delayed.begin()->first <= now.run) {
    const JobSeq seq = world.delayed.begin()->second;
    world.delayed.erase(world.delayed.begin());
    world.enqueue(world.jobs.at(seq));
  }
  // 3. Place what fits.
  world.run_cycle();
  // 4. Rows for the store, and when to come back.
  world.flush_touched();
  if (!world.delayed.empty()) world.out.wake = world.delayed.begin()->first;
  return std::move(world.out);
}

std::vector<std::pair<AttemptRef, int>> Engine::live_attempts() const {
  std::vector<std::pair<AttemptRef, int>> attempts;
  for (const JobSeq seq : world_->live) {
    const auto& job = world_->jobs.at(seq);
    attempts.emplace_back(ref_of(job, job.live->n), static_cast<int>(job.live->placements.size()));
  }
  return attempts;
}

const sched::View& Engine::view() const { return world_->view; }

std::vector<sched::Holder> Engine::World::holders() const {
  std::vector<sched::Holder> all;
  for (const JobSeq seq : live) {
    const auto& job = jobs.at(seq);
    all.push_back({.job = job.id,
                   .user = job.user,
                   .cluster = job.cluster,
                   .placements = job.live->placements,
                   .since = job.live->placed_at,
                   .has_its_nodes = has_its_nodes(*job.live)});
  }
  return all;
}

std::vector<sched::Holder> Engine::holders() const { return world_->holders(); }

std::optional<int> Engine::nodes_of(const AttemptRef& ref) const {
  const auto found = world_->jobs.find(ref.seq);
  if (found == world_->jobs.end() || !found->second.live || found->second.live->n != ref.attempt)
    return std::nullopt;
  return static_cast<int>(found->second.live->placements.size());
}

std::size_t Engine::job_count() const { return world_->jobs.size(); }

std::vector<std::pair<JobSeq, Reason>> Engine::waits_for() const {
  std::vector<std::pair<JobSeq, Reason>> all;
  for (const auto& [seq, watch] : world_->watches)
    for (const auto& [node, reason] : watch.waits_for) all.emplace_back(seq, reason);
  return all;
}

std::vector<std::pair<int, JobSeq>> Engine::passed_over() const {
  std::vector<std::pair<int, JobSeq>> passed;
  for (const JobSeq seq : world_->impossible)
    passed.emplace_back(world_->jobs.at(seq).priority, seq);
  return passed;
}

}  // namespace muster::engine
