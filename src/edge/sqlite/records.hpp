/// The read side of the store: one object for each reader thread, on a connection of its own. Every
/// answer is one snapshot; nothing here waits for the writer, or makes it wait.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/job.hpp"
#include "edge/sqlite/db.hpp"

namespace muster {

struct JobRow {
  Job job;  // with its live attempt, where there is one
  JobSpec spec;
};

/// A job's row as it is stored: enough to see whether it has changed.
struct StoredJob {
  JobSeq seq = 0;
  bool is_final = false;  // then it never changes
  std::string_view body;  // valid during the call it is given to
};

struct JobFilter {
  std::string user;              // empty: anybody's
  std::vector<JobState> states;  // empty: any
  std::optional<bool> final;
  JobSeq after = 0;       // beyond this job in the order asked for; 0: from the start
  std::size_t limit = 0;  // 0: all
  bool newest_first = false;
};

struct JobDetail {
  Job job;
  JobSpec spec;
  std::vector<Attempt> attempts;  // all, in order
};

struct EventRow {
  std::int64_t sequence = 0;
  WallTime at;
  std::string actor;
  JobSeq job = 0;
  JobId id;
  std::string kind;
  int version = 0;
  std::string body;  // JSON as stored
};

class Records {
 public:
  explicit Records(sqlite::Db db) : db_(std::move(db)) {}

  Result<std::vector<JobRow>> list(const JobFilter& filter);
  /// The same, one after the other and as they are stored; `row` reads one of them in full, from
  /// the same snapshot.
  Result<> each(const JobFilter& filter, const std::function<Result<>(const StoredJob&)>& see);
  Result<JobRow> row(JobSeq seq);
  /// What a person typed: a full id, else the only id that begins with it, else the only one that
  /// ends with it, else the only job of that name. Kind::usage lists candidates when there are
  /// several, Kind::not_found names the nearest.
  Result<JobSeq> resolve(std::string_view text);
  Result<JobDetail> detail(JobSeq seq);
  Result<bool> has(const JobId& id);
  /// Events beyond `after`, of one job or of all; limit 0 means all.
  Result<std::vector<EventRow>> events(std::int64_t after, std::optional<JobSeq> job,
                                       std::size_t limit);
  /// How many queued jobs come before a job of this priority and number.
  Result<std::int64_t> queued_ahead(int priority, JobSeq seq);
  /// All queued jobs, the next to be placed first.
  Result<std::vector<JobSeq>> queue();
  /// Jobs by the word of their state; states without jobs are absent.
  Result<std::map<std::string, std::int64_t>> counts();
  /// Whether a job that is not final refers to this environment.
  Result<bool> env_in_use(std::string_view env_id);
  /// All jobs with `keep: none`; the few that there are.
  Result<std::vector<Job>> keeping_nothing();

 private:
  sqlite::Db db_;
};

/// The store must exist and have this program's version.
Result<std::unique_ptr<Records>> open_records(const std::string& path);

}  // namespace muster
