#include "edge/sqlite/rows.hpp"

#include "core/model/codec.hpp"

namespace muster::sqlite {
namespace {

constexpr std::string_view kInsertJob =
    "INSERT INTO jobs (seq, id, rid, name, user, state, final, priority, submitted_event, env_id,"
    " body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
// Only what may change, so that the other indexes are left alone.
constexpr std::string_view kUpdateJob =
    "UPDATE jobs SET state = ?2, final = ?3, priority = ?4, body = ?5"
    " WHERE seq = ?1 AND final <= ?3";

Result<> insert_job(Db& db, const Job& job, std::int64_t submitted_event) {
  const auto& id = job.id.str();
  TRY(auto insert, db.statement(kInsertJob));
  return insert.run_with(job.seq, id, std::string(id.rbegin(), id.rend()), job.name, job.user,
                         name_of(job.state), is_final(job.state), job.priority, submitted_event,
                         job.env_id, encode(job));
}

Result<> update_job(Db& db, const Job& job) {
  TRY(auto update, db.statement(kUpdateJob));
  TRY_VOID(
      update.run_with(job.seq, name_of(job.state), is_final(job.state), job.priority, encode(job)));
  if (db.changes() == 0) return not_updatable(job.seq);
  return {};
}

}  // namespace

Result<> write_events(Db& db, const Batch& batch) {
  TRY(auto insert, db.statement("INSERT INTO events (seq, at_us, actor, job, kind, version, body)"
                                " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"));
  for (const auto& event : batch.events) {
    TRY_VOID(insert.run_with(event.sequence, event.at.us, event.actor, event.job,
                             kind_of(event.body), kEventVersion, encode_body(event.body)));
  }
  return {};
}

Result<> write_jobs(Db& db, const Batch& batch, const Submissions& submissions) {
  for (const auto& job : batch.jobs) {
    const auto found = submissions.find(job.seq);
    if (found == submissions.end()) {
      TRY_VOID(update_job(db, job));
    } else {
      TRY_VOID(insert_job(db, job, found->second.sequence));
    }
  }
  return {};
}

Result<> write_attempts(Db& db, const Batch& batch) {
  TRY(auto upsert, db.statement("INSERT INTO attempts (job, n, state, body) VALUES (?1, ?2, ?3, ?4)"
                                " ON CONFLICT (job, n) DO UPDATE SET state = ?3, body = ?4"));
  const auto write = [&](JobSeq job, const Attempt& attempt) {
    return upsert.run_with(job, attempt.n, name_of(attempt.state), encode(attempt));
  };
  for (const auto& [job, attempt] : batch.ended) TRY_VOID(write(job, attempt));
  for (const auto& job : batch.jobs)
    if (job.live) TRY_VOID(write(job.seq, *job.live));
  return {};
}

Result<> write_keys(Db& db, const Submissions& submissions) {
  TRY(auto insert, db.statement("INSERT INTO keys (user, key, job, request_hash)"
                                " VALUES (?1, ?2, ?3, ?4)"));
  for (const auto& [seq, submission] : submissions) {
    const auto& spec = submission.event->spec;
    if (spec.key.empty()) continue;
    TRY_VOID(insert.run_with(spec.user, spec.key, seq, spec.request_hash));
  }
  return {};
}

Result<std::optional<Attempt>> live_attempt(Db& db, JobSeq seq) {
  TRY(auto row, db.statement("SELECT body FROM attempts WHERE job = ?1 AND state <> 'ended'"
                             " ORDER BY n DESC LIMIT 1"));
  TRY(const bool found, row.bind(seq).step());
  if (!found) return std::nullopt;
  TRY(auto attempt, attempt_of_row(seq, row.text(0)));
  return attempt;
}

}  // namespace muster::sqlite
