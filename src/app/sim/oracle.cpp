#include "app/sim/oracle.hpp"

#include "core/lifecycle/apply.hpp"
#include "core/model/codec.hpp"

namespace muster::sim {
namespace {

/// Whether the script alone explains this end.
bool is_script_end(const JobSpec& spec, const Script& script, const Job& job) {
  switch (job.cause) {
    case Cause::success: return script.exit == 0 && script.signal == 0;
    case Cause::user_code:
      return script.signal == 0 && script.exit != 0 && job.exit_code == script.exit;
    case Cause::segfault:
    case Cause::killed_unknown: return script.signal != 0 && job.signal == script.signal;
    case Cause::time_limit: return spec.time_limit.count() > 0;
    default: return false;
  }
}

std::string judge_end(const LedgerRow& row, const Job& job) {
  const auto script = parse_script(row.spec.command);
  const auto cls = row_of(job.cause).cause_class;
  if (job.cause == Cause::cancelled)
    return row.abort_sent ? "" : fmt::format("job {} was cancelled and nobody asked", job.id.str());
  if (cls == CauseClass::infrastructure) {
    const bool is_spent = job.spent.infrastructure >= job.retries.infrastructure;
    return is_spent || row.abort_sent
               ? ""
               : fmt::format("job {} failed with {} before its budget was spent", job.id.str(),
                             name_of(job.cause));
  }
  if (!script || !is_script_end(row.spec, *script, job))
    return fmt::format("job {} ended with {}, exit {}, signal {}: its script says otherwise",
                       job.id.str(), name_of(job.cause), job.exit_code, job.signal);
  return "";
}

/// I4, I7 and the attempts' own rows.
std::string judge_attempts(const Scene& scene, const Job& job, int& count) {
  const auto attempts = scene.store.attempts(job.seq);
  if (!attempts) return fmt::format("job {}: {}", job.id.str(), to_line(attempts.error()));
  if (std::ssize(*attempts) != job.attempts)
    return fmt::format("job {} has {} attempts and {} rows", job.id.str(), job.attempts,
                       attempts->size());
  int retried = 0;
  for (const auto& attempt : *attempts) {
    ++count;
    if (is_final(job.state) &&
        (attempt.state != AttemptState::ended || attempt.cause == Cause::none))
      return fmt::format("attempt {} of {} has no end", attempt.n, job.id.str());
    if (scene.backend.starts(ref_of(job, attempt.n)) > static_cast<int>(attempt.placements.size()))
      return fmt::format("attempt {} of {} was started twice", attempt.n, job.id.str());
    retried += attempt.n < job.attempts ? 1 : 0;
  }
  const auto& spent = job.spent;
  const int paid = spent.user + spent.memory + spent.hang + spent.infrastructure + spent.eviction;
  if (paid != retried && !(job.attempts == paid && job.state == JobState::cancelled))
    return fmt::format("job {}: {} retries, {} paid", job.id.str(), retried, paid);
  return "";
}

}  // namespace

std::string fold_difference(MemoryStore& store) {
  const auto events = store.events();
  if (!events) return to_line(events.error());
  lifecycle::Fold fold;
  for (const auto& event : *events) fold.feed(event);
  if (fold.jobs.size() != store.job_count())
    return fmt::format("{} jobs in events, {} in tables", fold.jobs.size(), store.job_count());
  for (const auto& [seq, job] : fold.jobs) {
    const auto row = store.job(seq);
    if (!row || !*row) return fmt::format("job {} is in events and not in tables", seq);
    if (encode(**row) != encode(job))
      return fmt::format("job {} differs: table {} fold {}", seq, encode(**row), encode(job));
    const auto attempts = store.attempts(seq);
    if (!attempts) return to_line(attempts.error());
    for (const auto& attempt : *attempts) {
      const auto found = fold.attempts.find({seq, attempt.n});
      if (found == fold.attempts.end() || encode(found->second) != encode(attempt))
        return fmt::format("attempt {} of job {} differs: table {}", attempt.n, seq,
                           encode(attempt));
    }
  }
  return "";
}

std::string find_broken_promise(const Scene& scene, int& attempts) {
  if (scene.ledger.size() != scene.store.job_count())
    return fmt::format("{} jobs acknowledged, {} stored", scene.ledger.size(),
                       scene.store.job_count());
  for (const auto& row : scene.ledger) {
    const auto found = scene.store.job(row.seq);
    if (!found || !*found) return fmt::format("acknowledged job {} is gone", row.id.str());
    const Job& job = **found;
    if (job.id != row.id) return fmt::format("job {} answers to {}", row.id.str(), job.id.str());
    const bool can_run = sched::could_ever_fit(scene.view, job.cluster, job.request);
    if (!is_final(job.state) && (can_run || row.abort_sent))
      return fmt::format("job {} is still {} after the quiet phase: {}", job.id.str(),
                         name_of(job.state), encode(job));
    if (scene.backend.living(job.seq) > 0)
      return fmt::format("processes of job {} ({}) are left", job.id.str(), name_of(job.state));
    if (is_final(job.state))
      if (auto broken = judge_end(row, job); !broken.empty()) return broken;
    if (auto broken = judge_attempts(scene, job, attempts); !broken.empty()) return broken;
  }
  return fold_difference(scene.store);
}

}  // namespace muster::sim
