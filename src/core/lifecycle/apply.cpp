#include "core/lifecycle/apply.hpp"

#include <limits>

#include "base/check.hpp"

namespace muster::lifecycle {
namespace {

struct Account {
  int* spent;
  int limit;
};

Account account_of(Job& job, Budget budget) {
  switch (budget) {
    case Budget::user: return {&job.spent.user, job.retries.user};
    case Budget::memory: return {&job.spent.memory, job.retries.memory};
    case Budget::hang: return {&job.spent.hang, job.retries.hang};
    case Budget::infrastructure: return {&job.spent.infrastructure, job.retries.infrastructure};
    case Budget::eviction: return {&job.spent.eviction, std::numeric_limits<int>::max()};
    case Budget::none: break;
  }
  return {nullptr, 0};
}

Attempt& live_attempt(Job& job, int n) {
  MUSTER_CHECK(job.live && job.live->n == n, "job {}: attempt {} is not its live attempt",
               job.id.str(), n);
  return *job.live;
}

/// What the job's state is while an attempt lives.
void follow_attempt(Job& job) {
  if (!job.cancelled_by.empty() || job.live->stop_asked)
    job.state = JobState::stopping;
  else
    job.state = job.live->state == AttemptState::running ? JobState::running : JobState::starting;
}

struct Folder {
  Job& job;
  WallTime at;

  void operator()(const Submitted&) const {
    MUSTER_CHECK(false, "job {} was submitted twice", job.id.str());
  }

  void operator()(const Placed& placed) const {
    MUSTER_CHECK(job.state == JobState::queued && !job.live, "job {} placed while {}", job.id.str(),
                 name_of(job.state));
    MUSTER_CHECK(job.cancelled_by.empty(), "job {} placed after its cancel", job.id.str());
    MUSTER_CHECK(placed.attempt == job.attempts + 1, "job {}: attempt {} follows {}", job.id.str(),
                 placed.attempt, job.attempts);
    job.attempts = placed.attempt;
    job.live = Attempt{.n = placed.attempt,
                       .epoch = placed.epoch,
                       .placements = placed.placements,
                       .port = placed.port,
                       .placed_at = at};
    job.state = JobState::starting;
  }

  void operator()(const PortMoved& moved) const {
    live_attempt(job, moved.attempt).port = moved.port;
  }

  void operator()(const Seated& seated) const {
    auto& attempt = live_attempt(job, seated.attempt);
    MUSTER_CHECK(seated.nodes.size() == attempt.placements.size(),
                 "job {}: {} nodes for {} placements", job.id.str(), seated.nodes.size(),
                 attempt.placements.size());
    for (std::size_t i = 0; i < seated.nodes.size(); ++i)
      attempt.placements[i].node = seated.nodes[i];
  }

  void operator()(const Started& started) const {
    auto& attempt = live_attempt(job, started.attempt);
    attempt.started_at = at;
    if (attempt.state != AttemptState::stopping) attempt.state = AttemptState::running;
    if (!job.started_at) job.started_at = at;
    follow_attempt(job);
  }

  void operator()(const NodeEnded& ended) const {
    auto& attempt = live_attempt(job, ended.attempt);
    for (const auto& end : attempt.ends)
      MUSTER_CHECK(end.node != ended.end.node, "job {}: node {} of attempt {} ended twice",
                   job.id.str(), end.node, attempt.n);
    attempt.ends.push_back(ended.end);
  }

  void operator()(const GangStopped& stopped) const {
    auto& attempt = live_attempt(job, stopped.attempt);
    attempt.stop_asked = true;
    attempt.state = AttemptState::stopping;
    attempt.first_failed_rank = stopped.first_failed_rank;
    follow_attempt(job);
  }

  void operator()(const CancelRequested& cancel) const {
    MUSTER_CHECK(!is_final(job.state) && job.cancelled_by.empty(), "job {} cancelled while {}",
                 job.id.str(), name_of(job.state));
    job.cancelled_by = cancel.by;
    if (!job.live) return;
    job.live->state = AttemptState::stopping;
    follow_attempt(job);
  }

  void operator()(const AttemptEnded& ended) const {
    auto& attempt = live_attempt(job, ended.attempt);
    MUSTER_CHECK(attempt.state != AttemptState::ended, "job {}: attempt {} ended twice",
                 job.id.str(), attempt.n);
    MUSTER_CHECK(ended.cause != Cause::none, "job {}: attempt {} ended without a cause",
                 job.id.str(), attempt.n);
    attempt.state = AttemptState::ended;
    attempt.cause = ended.cause;
    attempt.exit_code = ended.exit_code;
    attempt.signal = ended.signal;
    attempt.first_failed_rank = ended.first_failed_rank;
    attempt.evidence = ended.evidence;
    attempt.cpu_s = ended.cpu_s;
    attempt.peak_bytes = ended.peak_bytes;
    attempt.oom_kills = ended.oom_kills;
    if (ended.started_at) attempt.started_at = ended.started_at;
    attempt.ended_at = ended.ended_at ? *ended.ended_at : at;
    attempt.ends.clear();
    // The supervisor's own word is earlier and better than when the server noticed.
    if (attempt.started_at && (!job.started_at || *attempt.started_at < *job.started_at))
      job.started_at = attempt.started_at;
    job.cause = ended.cause;
    job.exit_code = ended.exit_code;
    job.signal = ended.signal;
  }

  void operator()(const Requeued& requeued) const {
    MUSTER_CHECK(job.live && job.live->state == AttemptState::ended,
                 "job {} requeued while its attempt lives", job.id.str());
    const auto account = account_of(job, requeued.budget);
    MUSTER_CHECK(account.spent != nullptr && *account.spent < account.limit,
                 "job {} overdraws its {} budget", job.id.str(), name_of(requeued.budget));
    ++*account.spent;
    job.not_before = requeued.not_before;
    job.live.reset();
    job.state = JobState::queued;
  }

  void operator()(const Finished& finished) const {
    MUSTER_CHECK(is_final(finished.state) && !is_final(job.state), "job {} finished as {} while {}",
                 job.id.str(), name_of(finished.state), name_of(job.state));
    MUSTER_CHECK(!job.live || job.live->state == AttemptState::ended,
                 "job {} finished while its attempt lives", job.id.str());
    job.ended_at = job.live && job.live->ended_at ? job.live->ended_at : at;
    job.live.reset();
    job.state = finished.state;
    job.cause = finished.cause;
    job.exit_code = finished.exit_code;
    job.signal = finished.signal;
  }
};

}  // namespace

Job born(JobSeq seq, WallTime at, const Submitted& submitted) {
  const auto& spec = submitted.spec;
  return Job{.seq = seq,
             .id = submitted.id,
             .name = spec.name,
             .user = spec.user,
             .key = spec.key,
             .request_hash = spec.request_hash,
             .cluster = spec.cluster,
             .queue = spec.queue,
             .env_id = spec.env_id,
             .priority = spec.priority,
             .request = spec.request,
             .retries = spec.retries,
             .grace = spec.grace,
             .submitted_at = at};
}

void apply(Job& job, WallTime at, const EventBody& body) {
  MUSTER_CHECK(!is_final(job.state), "job {} is {}: final is final", job.id.str(),
               name_of(job.state));
  std::visit(Folder{job, at}, body);
}

void Fold::feed(const Event& event) {
  if (const auto* submitted = std::get_if<Submitted>(&event.body)) {
    const bool is_new = jobs.emplace(event.job, born(event.job, event.at, *submitted)).second;
    MUSTER_CHECK(is_new, "job {} was submitted twice", event.job);
    return;
  }
  const auto found = jobs.find(event.job);
  MUSTER_CHECK(found != jobs.end(), "event {} names job {}, which was never submitted",
               event.sequence, event.job);
  auto& job = found->second;
  apply(job, event.at, event.body);
  if (job.live) attempts[{job.seq, job.live->n}] = *job.live;
}

bool has_budget(const Job& job, Budget budget) {
  const auto account = account_of(const_cast<Job&>(job), budget);  // read only
  return account.spent != nullptr && *account.spent < account.limit;
}

}  // namespace muster::lifecycle
