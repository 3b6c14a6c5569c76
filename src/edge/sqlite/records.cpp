#include "edge/sqlite/records.hpp"

#include "edge/sqlite/batch.hpp"
#include "edge/sqlite/migrate.hpp"
#include "edge/sqlite/rows.hpp"

namespace muster {
namespace {

using sqlite::Access;
using sqlite::Statement;
using sqlite::Transaction;

/// -1 is SQLite's word for no limit.
std::int64_t limit_of(std::size_t limit) {
  return limit == 0 ? -1 : static_cast<std::int64_t>(limit);
}

Result<std::vector<Attempt>> attempts_of(sqlite::Db& db, JobSeq seq) {
  std::vector<Attempt> attempts;
  TRY(auto rows, db.statement("SELECT body FROM attempts WHERE job = ?1 ORDER BY n"));
  rows.bind(seq);
  for (;;) {
    TRY(const bool has_row, rows.step());
    if (!has_row) return attempts;
    TRY(auto attempt, attempt_of_row(seq, rows.text(0)));
    attempts.push_back(std::move(attempt));
  }
}

/// Whether all states asked for are final, or none is: only then an index on one half serves.
std::optional<bool> half_of(const JobFilter& filter) {
  if (filter.final || filter.states.empty()) return filter.final;
  const auto finals = std::count_if(filter.states.begin(), filter.states.end(), is_final);
  if (finals == 0) return false;
  if (finals == std::ssize(filter.states)) return true;
  return std::nullopt;
}

/// Which way to walk the jobs. Final ones are many: only by their state's index when that gives
/// them in order or gives few of them; else by number, where a limit stops early.
std::string_view way_of(const JobFilter& filter, std::optional<bool> half) {
  if (half == false) return " INDEXED BY jobs_live";
  const auto& states = filter.states;
  const bool most = std::count(states.begin(), states.end(), JobState::succeeded) > 0;
  const bool by_state = half == true && !states.empty() && (states.size() == 1 || !most);
  return by_state ? " INDEXED BY jobs_final" : " NOT INDEXED";
}

enum class Specs { with, without };

/// Parameters: ?1 after, ?2 limit, ?3 user, ?4... states. What the filter leaves out is not in it,
/// and `final` is a literal: partial indexes serve literals only.
std::string sql_of(const JobFilter& filter, Specs specs) {
  const auto half = half_of(filter);
  std::string sql = specs == Specs::with
                        ? "SELECT j.seq, j.final, j.body, e.version, e.body FROM jobs j"
                        : "SELECT j.seq, j.final, j.body FROM jobs j";
  sql += way_of(filter, half);
  if (specs == Specs::with) sql += " CROSS JOIN events e ON e.seq = j.submitted_event";
  sql += " WHERE";
  sql += filter.newest_first && filter.after > 0 ? " j.seq < ?1" : " j.seq > ?1";
  if (half) sql += *half ? " AND j.final = 1" : " AND j.final = 0";
  if (!filter.user.empty()) sql += " AND j.user = ?3";
  for (std::size_t i = 0; i < filter.states.size(); ++i)
    sql += fmt::format("{}?{}", i == 0 ? " AND j.state IN (" : ", ", i + 4);
  if (!filter.states.empty()) sql += ")";
  sql += filter.newest_first ? " ORDER BY j.seq DESC" : " ORDER BY j.seq";
  return sql + " LIMIT ?2";
}

void bind_filter(Statement& rows, const JobFilter& filter) {
  rows.put(1, filter.after);
  rows.put(2, limit_of(filter.limit));
  if (!filter.user.empty()) rows.put(3, filter.user);
  for (std::size_t i = 0; i < filter.states.size(); ++i)
    rows.put(static_cast<int>(i) + 4, name_of(filter.states[i]));
}

Result<JobRow> row_of(sqlite::Db& db, const Statement& rows) {
  const JobSeq seq = rows.integer(0);
  JobRow row;
  TRY(row.job, job_of_row(seq, rows.text(2)));
  TRY(row.spec, spec_of_row(seq, static_cast<int>(rows.integer(3)), rows.text(4)));
  if (rows.integer(1) == 0) {
    TRY(row.job.live, sqlite::live_attempt(db, seq));
  }
  return row;
}

EventRow event_of(const Statement& rows) {
  return {.sequence = rows.integer(0),
          .at = {rows.integer(1)},
          .actor = std::string(rows.text(2)),
          .job = rows.integer(3),
          .id = JobId(std::string(rows.text(4))),
          .kind = std::string(rows.text(5)),
          .version = static_cast<int>(rows.integer(6)),
          .body = std::string(rows.text(7))};
}

}  // namespace

Result<std::vector<JobRow>> Records::list(const JobFilter& filter) {
  std::vector<JobRow> jobs;
  TRY(auto rows, db_.statement(sql_of(filter, Specs::with)));
  bind_filter(rows, filter);
  for (;;) {
    // While this statement is under way the snapshot stands, for the attempts as well.
    TRY(const bool has_row, rows.step());
    if (!has_row) return jobs;
    TRY(auto row, row_of(db_, rows));
    jobs.push_back(std::move(row));
  }
}

Result<> Records::each(const JobFilter& filter,
                       const std::function<Result<>(const StoredJob&)>& see) {
  TRY(auto rows, db_.statement(sql_of(filter, Specs::without)));
  bind_filter(rows, filter);
  for (;;) {
    TRY(const bool has_row, rows.step());
    if (!has_row) return {};
    TRY_VOID(see({.seq = rows.integer(0), .is_final = rows.integer(1) != 0, .body = rows.text(2)}));
  }
}

Result<JobRow> Records::row(JobSeq seq) {
  TRY(auto rows, db_.statement("SELECT j.seq, j.final, j.body, e.version, e.body FROM jobs j"
                               " JOIN events e ON e.seq = j.submitted_event WHERE j.seq = ?1"));
  TRY(const bool found, rows.bind(seq).step());
  if (!found) return no_job(seq);
  return row_of(db_, rows);
}

Result<JobDetail> Records::detail(JobSeq seq) {
  TRY(auto snapshot, Transaction::begin(db_, Access::read));
  TRY(auto row, this->row(seq));
  TRY(auto attempts, attempts_of(db_, seq));
  return JobDetail{std::move(row.job), std::move(row.spec), std::move(attempts)};
}

Result<std::vector<EventRow>> Records::events(std::int64_t after, std::optional<JobSeq> job,
                                              std::size_t limit) {
  constexpr std::string_view kAll =
      "SELECT e.seq, e.at_us, e.actor, e.job, j.id, e.kind, e.version, e.body FROM events e"
      " LEFT JOIN jobs j ON j.seq = e.job WHERE e.seq > ?1 ORDER BY e.seq LIMIT ?2";
  constexpr std::string_view kOfOne =
      "SELECT e.seq, e.at_us, e.actor, e.job, j.id, e.kind, e.version, e.body FROM events e"
      " LEFT JOIN jobs j ON j.seq = e.job WHERE e.job = ?3 AND e.seq > ?1 ORDER BY e.seq LIMIT ?2";
  std::vector<EventRow> events;
  TRY(auto rows, db_.statement(job ? kOfOne : kAll));
  rows.bind(after, limit_of(limit));
  if (job) rows.put(3, *job);
  for (;;) {
    TRY(const bool has_row, rows.step());
    if (!has_row) return events;
    events.push_back(event_of(rows));
  }
}

Result<std::int64_t> Records::queued_ahead(int priority, JobSeq seq) {
  return db_.integer(
      "SELECT (SELECT count(*) FROM jobs WHERE final = 0 AND state = 'queued' AND priority > ?1)"
      " + (SELECT count(*) FROM jobs WHERE final = 0 AND state = 'queued' AND priority = ?1"
      " AND seq < ?2)",
      priority, seq);
}

Result<std::vector<JobSeq>> Records::queue() {
  std::vector<JobSeq> queue;
  TRY(auto rows, db_.statement("SELECT seq FROM jobs WHERE final = 0 AND state = 'queued'"
                               " ORDER BY priority DESC, seq"));
  for (;;) {
    TRY(const bool has_row, rows.step());
    if (!has_row) return queue;
    queue.push_back(rows.integer(0));
  }
}

Result<std::map<std::string, std::int64_t>> Records::counts() {
  std::map<std::string, std::int64_t> counts;
  TRY(auto rows, db_.statement("SELECT state, count(*) FROM jobs INDEXED BY jobs_live"
                               " WHERE final = 0 GROUP BY state UNION ALL"
                               " SELECT state, count(*) FROM jobs INDEXED BY jobs_final"
                               " WHERE final = 1 GROUP BY state"));
  for (;;) {
    TRY(const bool has_row, rows.step());
    if (!has_row) return counts;
    counts[std::string(rows.text(0))] += rows.integer(1);
  }
}

Result<bool> Records::env_in_use(std::string_view env_id) {
  TRY(const auto found,
      db_.integer("SELECT 1 FROM jobs WHERE final = 0 AND env_id = ?1 LIMIT 1", env_id));
  return found == 1;
}

Result<bool> Records::has(const JobId& id) {
  TRY(const auto found, db_.integer("SELECT count(*) FROM jobs WHERE id = ?1", id.str()));
  return found == 1;
}

Result<std::vector<Job>> Records::keeping_nothing() {
  std::vector<Job> jobs;
  // A word in a command that reads the same has its quotes escaped.
  TRY(auto rows, db_.statement("SELECT j.seq, j.body FROM events e JOIN jobs j"
                               " ON j.submitted_event = e.seq WHERE"
                               " instr(e.body, '\"keep\":\"none\"') > 0"));
  for (;;) {
    TRY(const bool has_row, rows.step());
    if (!has_row) return jobs;
    TRY(auto job, job_of_row(rows.integer(0), rows.text(1)));
    jobs.push_back(std::move(job));
  }
}

Result<std::unique_ptr<Records>> open_records(const std::string& path) {
  TRY(auto db, sqlite::Db::open(path, sqlite::OpenMode::read_only));
  TRY(const auto migrations, sqlite::built_in_migrations());
  TRY_VOID(sqlite::require_version(db, static_cast<int>(migrations.size())));
  TRY_VOID(db.script("PRAGMA cache_size = -8000"));
  return std::make_unique<Records>(std::move(db));
}

}  // namespace muster
