/// Short builders for tests of stores: a folder that goes away, jobs, and the batches of a life.
#pragma once
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/model/codec.hpp"
#include "port/store.hpp"

namespace muster::test {

class TempFolder {
 public:
  TempFolder() {
    // Thousands of synced commits: memory where there is some, so that they cost no disk time.
    const std::filesystem::path memory = "/dev/shm";
    const bool has_memory = ::access(memory.c_str(), W_OK) == 0;
    const auto base = has_memory ? memory : std::filesystem::temp_directory_path();
    auto pattern = (base / "muster-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// The value, or a failed test and a default.
template <class T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  ADD_FAILURE() << to_text(result.error());
  if constexpr (std::is_default_constructible_v<T>)
    return T();
  else
    std::abort();
}
inline void must(Result<> result) {
  if (!result) ADD_FAILURE() << to_text(result.error());
}

inline JobId id_of(JobSeq seq) {
  return JobId(fmt::format("alice_1700000000_{:08x}", seq * 0x9E37));
}

inline Job queued_job(JobSeq seq) {
  Job job;
  job.seq = seq;
  job.id = id_of(seq);
  job.name = fmt::format("train-{}", seq);
  job.user = "alice";
  job.cluster = "local";
  job.queue = "default";
  job.env_id = std::string(64, 'e');
  job.submitted_at = {1'700'000'000'000'000 + seq};
  return job;
}

inline JobSpec spec_of(const Job& job) {
  JobSpec spec;
  spec.command = {"python3", "train.py", "--lr", "0.1"};
  spec.dir = "/home/alice/project";
  spec.name = job.name;
  spec.user = job.user;
  spec.key = job.key;
  spec.request_hash = job.request_hash;
  spec.env_id = job.env_id;
  spec.priority = job.priority;
  spec.limits = {{"nofile", 1024}, {"stack", 8 << 20}};
  return spec;
}

inline Attempt launched(int n) {
  Attempt attempt;
  attempt.n = n;
  attempt.epoch = n;
  attempt.port = 20000 + n;
  attempt.placements = {{.node = NodeName("node-0"), .cpus = {1000}, .memory = {1 << 30}}};
  attempt.placed_at = {1'700'000'000'500'000};
  return attempt;
}

/// Batches with event numbers that go on by themselves, as an engine would give them.
class Writer {
 public:
  explicit Writer(std::int64_t last_event = 0) : last_(last_event) {}

  Event event(JobSeq job, EventBody body) {
    ++last_;
    return {last_, {1'700'000'000'000'000 + last_}, "alice", job, std::move(body)};
  }
  Batch submit(const Job& job) {
    auto batch = empty();
    add_submit(batch, job);
    return batch;
  }
  void add_submit(Batch& batch, const Job& job) {
    batch.events.push_back(event(job.seq, Submitted{job.id, spec_of(job)}));
    batch.jobs.push_back(job);
  }
  Batch update(const Job& job, EventBody body) {
    auto batch = empty();
    batch.events.push_back(event(job.seq, std::move(body)));
    batch.jobs.push_back(job);
    return batch;
  }
  Batch place(Job& job) {
    job.state = JobState::starting;
    job.live = launched(++job.attempts);
    return update(job, Placed{.attempt = job.attempts, .epoch = job.attempts});
  }
  Batch finish(Job& job) {
    auto batch = empty();
    if (job.live) {
      job.live->state = AttemptState::ended;
      job.live->cause = Cause::success;
      batch.events.push_back(event(job.seq, AttemptEnded{.attempt = job.live->n}));
      batch.ended.emplace_back(job.seq, *job.live);
      job.live.reset();
    }
    job.state = JobState::succeeded;
    job.cause = Cause::success;
    batch.events.push_back(event(job.seq, Finished{.state = job.state, .cause = job.cause}));
    batch.jobs.push_back(job);
    return batch;
  }
  Batch empty() const { return {.now = {{1'700'000'000'000'000 + last_}, {last_ * 10}}}; }
  std::int64_t last() const { return last_; }

 private:
  std::int64_t last_;
};

/// A row and its live attempt as text: what two stores must agree on.
inline std::string text_of(const Job& job) {
  return encode(job) + (job.live ? encode(*job.live) : std::string());
}

}  // namespace muster::test
