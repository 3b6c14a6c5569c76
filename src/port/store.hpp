/// Durable truth: events and their projection, written together. One thread writes.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "core/model/event.hpp"

namespace muster {

/// What a restart needs: everything that is not final, and the counters.
struct Loaded {
  std::vector<Job> jobs;  // not final, each with its live attempt, in submission order
  JobSeq last_seq = 0;
  std::int64_t last_event = 0;
  std::uint64_t id_key = 0;  // the secret of the id permutation, made with the store
  RunTime run;               // the latest run time that was committed
};

/// One turn's writes: all of it or nothing.
struct Batch {
  Now now;
  std::vector<Event> events;  // `sequence` is already given by the engine
  std::vector<Job> jobs;  // rows as they are after the events, `live` included where there is one
  std::vector<std::pair<JobSeq, Attempt>> ended;  // attempts that ended in this batch
};

/// A job found by its key.
struct KeyHit {
  JobSeq seq = 0;
  JobId id;
  std::string request_hash;
};

struct Store {
  virtual ~Store() = default;
  virtual Result<Loaded> load() = 0;
  virtual Result<> commit(const Batch& batch) = 0;
  virtual Result<std::optional<KeyHit>> find_key(std::string_view user, std::string_view key) = 0;
  /// The spec as submitted (from the Submitted event).
  virtual Result<JobSpec> spec(JobSeq job) = 0;
  /// The row of a job, final or not; nothing when there is none.
  virtual Result<std::optional<Job>> job(JobSeq job) = 0;
};

}  // namespace muster
