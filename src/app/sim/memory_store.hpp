/// The Store port in memory, for simulations: rows are kept encoded, as a disk would have them, so
/// a restart sees what would have been durable and nothing else. Its commits can be made to fail.
/// One thread.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "port/store.hpp"

namespace muster {

/// How a commit may fail: before anything is durable, or after all of it is, unknown to the caller.
enum class CommitFault { before, after };

/// Whether events other than submissions are kept; millions of them need room.
enum class History { kept, dropped };

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(std::uint64_t id_key = 1, History history = History::kept)
      : id_key_(id_key), history_(history) {}

  Result<Loaded> load() override;
  Result<> commit(const Batch& batch) override;
  Result<std::optional<KeyHit>> find_key(std::string_view user, std::string_view key) override;
  Result<JobSpec> spec(JobSeq job) override;
  Result<std::optional<Job>> job(JobSeq job) override;

  /// The next commit that could succeed fails in this way instead. Once.
  void fail_next_commit(CommitFault fault) { fault_ = fault; }
  /// All events as a reader would decode them, in order; only submissions with dropped history.
  Result<std::vector<Event>> events() const;
  /// All attempts of a job, in order.
  Result<std::vector<Attempt>> attempts(JobSeq job) const;
  std::size_t job_count() const { return jobs_.size(); }

 private:
  struct EventRow {
    std::int64_t sequence = 0;
    WallTime at;
    std::string actor;
    JobSeq job = 0;
    std::string_view kind;
    std::string body;
  };
  struct JobRow {
    JobId id;
    bool is_final = false;
    std::size_t submission = 0;  // index into events_
    std::string body;
  };
  struct AttemptRow {
    AttemptState state = AttemptState::launching;
    std::string body;
  };

  Result<> refuse_clashes(const Batch& batch) const;
  void apply(const Batch& batch);
  Result<std::optional<Attempt>> live_attempt(JobSeq seq) const;

  std::uint64_t id_key_;
  History history_;
  std::optional<CommitFault> fault_;
  std::vector<EventRow> events_;
  std::unordered_map<JobSeq, JobRow> jobs_;
  std::unordered_map<std::string, JobSeq> ids_;
  std::set<JobSeq> live_;  // jobs that are not final
  std::unordered_map<JobSeq, std::map<int, AttemptRow>> attempts_;
  std::map<std::pair<std::string, std::string>, KeyHit> keys_;
  JobSeq last_seq_ = 0;
  std::int64_t last_event_ = 0;
  RunTime run_;
};

}  // namespace muster
