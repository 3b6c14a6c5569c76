#include "edge/sqlite/store.hpp"

#include <time.h>

#include "base/text.hpp"
#include "base/units.hpp"
#include "core/model/codec.hpp"
#include "edge/sqlite/batch.hpp"
#include "edge/sqlite/rows.hpp"

namespace muster {
namespace {

std::int64_t boottime_us() {
  timespec at{};
  ::clock_gettime(CLOCK_BOOTTIME, &at);
  return std::int64_t{at.tv_sec} * 1'000'000 + at.tv_nsec / 1000;
}

/// "run wall boottime boot_id": one row, so that a commit writes one.
std::string text_of(const ClockMark& mark) {
  return fmt::format("{} {} {} {}", mark.run.us, mark.wall.us, mark.boottime_us, mark.boot_id);
}

Result<ClockMark> mark_of(std::string_view text) {
  ClockMark mark;
  constexpr auto kLow = std::numeric_limits<std::int64_t>::min();
  constexpr auto kHigh = std::numeric_limits<std::int64_t>::max();
  std::int64_t* const numbers[] = {&mark.run.us, &mark.wall.us, &mark.boottime_us};
  for (auto* number : numbers) {
    const auto end = text.find(' ');
    const auto value = parse_whole(text.substr(0, end), kLow, kHigh);
    if (end == std::string_view::npos || !value)
      return fail(Kind::corrupt, "the store's clock cannot be read");
    *number = *value;
    text.remove_prefix(end + 1);
  }
  mark.boot_id = std::string(text);
  return mark;
}

}  // namespace

SqliteStore::SqliteStore(sqlite::Db db, Log& log, const StoreOptions& options)
    : db_(std::move(db)),
      log_(log),
      wal_limit_(options.wal_limit),
      next_checkpoint_(options.wal_limit) {}

Result<Loaded> SqliteStore::load() {
  Loaded loaded;
  TRY(auto snapshot, sqlite::Transaction::begin(db_, sqlite::Access::read));
  TRY(auto rows, db_.statement("SELECT seq, body FROM jobs INDEXED BY jobs_live WHERE final = 0"
                               " ORDER BY seq"));
  for (;;) {
    TRY(const bool has_row, rows.step());
    if (!has_row) break;
    TRY(auto job, job_of_row(rows.integer(0), rows.text(1)));
    TRY(job.live, sqlite::live_attempt(db_, rows.integer(0)));
    loaded.jobs.push_back(std::move(job));
  }
  TRY(loaded.last_seq, db_.integer("SELECT max(seq) FROM jobs"));
  TRY(loaded.last_event, db_.integer("SELECT max(seq) FROM events"));
  TRY(const auto id_key, db_.integer("SELECT value FROM meta WHERE name = 'id_key'"));
  loaded.id_key = static_cast<std::uint64_t>(id_key);
  TRY(const auto mark, clock_mark());
  loaded.run = mark.run;
  return loaded;
}

Result<> SqliteStore::commit(const Batch& batch) {
  TRY_VOID(write(batch));
  checkpoint_if_large();
  return {};
}

Result<> SqliteStore::write(const Batch& batch) {
  TRY(const auto submissions, submissions_of(batch));
  TRY(auto transaction, sqlite::Transaction::begin(db_, sqlite::Access::write));
  TRY_VOID(sqlite::write_events(db_, batch));
  TRY_VOID(sqlite::write_jobs(db_, batch, submissions));
  TRY_VOID(sqlite::write_attempts(db_, batch));
  TRY_VOID(sqlite::write_keys(db_, submissions));
  const auto mark = text_of({batch.now.run, batch.now.wall, boot_id_, boottime_us()});
  TRY_VOID(db_.run("UPDATE meta SET value = ?1 WHERE name = 'clock'", mark));
  return transaction.commit();
}

Result<std::optional<KeyHit>> SqliteStore::find_key(std::string_view user, std::string_view key) {
  TRY(auto row, db_.statement("SELECT k.job, j.id, k.request_hash FROM keys k"
                              " JOIN jobs j ON j.seq = k.job WHERE k.user = ?1 AND k.key = ?2"));
  TRY(const bool found, row.bind(user, key).step());
  if (!found) return std::nullopt;
  return KeyHit{.seq = row.integer(0),
                .id = JobId(std::string(row.text(1))),
                .request_hash = std::string(row.text(2))};
}

Result<JobSpec> SqliteStore::spec(JobSeq job) {
  TRY(auto row, db_.statement("SELECT e.version, e.body FROM jobs j"
                              " JOIN events e ON e.seq = j.submitted_event WHERE j.seq = ?1"));
  TRY(const bool found, row.bind(job).step());
  if (!found) return no_job(job);
  return spec_of_row(job, static_cast<int>(row.integer(0)), row.text(1));
}

Result<std::optional<Job>> SqliteStore::job(JobSeq seq) {
  TRY(auto row, db_.statement("SELECT body FROM jobs WHERE seq = ?1"));
  TRY(const bool found, row.bind(seq).step());
  if (!found) return std::nullopt;
  TRY(auto job, job_of_row(seq, row.text(0)));
  TRY(job.live, sqlite::live_attempt(db_, seq));
  return job;
}

Result<ClockMark> SqliteStore::clock_mark() {
  TRY(auto row, db_.statement("SELECT value FROM meta WHERE name = 'clock'"));
  TRY(const bool found, row.step());
  if (!found) return fail(Kind::corrupt, "the store has no clock");
  return mark_of(row.text(0));
}

Result<std::string> SqliteStore::home_id() {
  TRY(auto row, db_.statement("SELECT value FROM meta WHERE name = 'home'"));
  TRY(const bool found, row.step());
  if (!found) return fail(Kind::corrupt, "the store has no home id");
  return std::string(row.text(0));
}

Result<> SqliteStore::checkpoint_if_idle() {
  if (db_.wal_bytes() == checkpointed_) return {};
  // A log that keeps its length is written over, which costs less than growing one.
  const bool is_long = db_.wal_bytes() > wal_limit_;
  TRY_VOID(db_.checkpoint(is_long ? sqlite::Checkpoint::truncate : sqlite::Checkpoint::passive));
  checkpointed_ = db_.wal_bytes();
  return {};
}

void SqliteStore::checkpoint_if_large() {
  if (db_.wal_bytes() < wal_limit_) next_checkpoint_ = wal_limit_;
  if (db_.wal_bytes() < next_checkpoint_) return;
  // The commit stands whatever becomes of the checkpoint.
  const auto done = db_.checkpoint(sqlite::Checkpoint::passive);
  if (!done) log_.warn("store checkpoint failed", {{"why", to_line(done.error())}});
  // A reader that keeps the log from starting anew would make every commit try again: let the
  // log grow some more first.
  next_checkpoint_ = db_.wal_bytes() + wal_limit_ / 4;
  log_.debug("store checkpoint", {{"wal_bytes", db_.wal_bytes()}, {"whole", done && *done}});
}

Result<> SqliteStore::check() {
  TRY(auto row, db_.statement("PRAGMA quick_check(1)"));
  TRY(const bool found, row.step());
  const std::string said = found ? std::string(row.text(0)) : "no answer";
  if (said == "ok") return {};
  Error error{
      .kind = Kind::corrupt, .what = "the store is damaged", .where = printable(db_.path())};
  error.why = printable(said);
  error.fix.emplace_back("put a copy back in its place (store.db.before-N, or your own backup)");
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace muster
