/// A job's status: the fold of its events. Small on purpose, tens of thousands are held in memory.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/cause.hpp"
#include "core/model/exit_record.hpp"
#include "core/model/job_spec.hpp"
#include "core/model/states.hpp"

namespace muster {

/// The store's own number of a job: submission order, and the key of every table.
using JobSeq = std::int64_t;

/// Names one attempt of a job.
struct AttemptRef {
  JobSeq seq = 0;
  JobId job;
  int attempt = 0;
  auto operator<=>(const AttemptRef&) const = default;
};

/// How the ranks on one node of an attempt ended: a record, or a loss with its reason.
struct NodeEnd {
  int node = 0;
  std::optional<ExitRecord> record;  // absent: lost
  Cause loss = Cause::none;          // lost, host_reboot, never_started when there is no record
  std::string evidence;
};

struct Attempt {
  int n = 0;
  std::int64_t epoch = 0;
  AttemptState state = AttemptState::launching;
  std::vector<Placement> placements;
  int port = 0;
  std::vector<NodeEnd> ends;  // nodes that have ended, while the attempt is live
  bool stop_asked = false;    // the rest of the gang was told to stop
  Cause cause = Cause::none;
  int exit_code = 0;
  int signal = 0;
  int first_failed_rank = -1;
  std::vector<std::string> evidence;
  WallTime placed_at;
  std::optional<WallTime> started_at;
  std::optional<WallTime> ended_at;
  double cpu_s = 0;
  std::int64_t peak_bytes = 0;
  std::int64_t oom_kills = 0;
};

/// What has been paid from each budget.
struct Spent {
  int user = 0;
  int memory = 0;
  int hang = 0;
  int infrastructure = 0;
  int eviction = 0;
};

struct Job {
  JobSeq seq = 0;
  JobId id;
  std::string name;
  std::string user;
  std::string key;
  std::string request_hash;
  std::string cluster;
  std::string queue;
  std::string env_id;
  int priority = 0;
  Request request;
  Retries retries;
  Duration grace{0};
  JobState state = JobState::queued;
  std::string cancelled_by;  // set: a cancel was asked for
  int attempts = 0;          // how many there were, the live one included
  Spent spent;
  RunTime not_before;         // queued: not to be placed earlier
  Cause cause = Cause::none;  // of the last attempt that ended
  int exit_code = 0;
  int signal = 0;
  WallTime submitted_at;
  std::optional<WallTime> started_at;
  std::optional<WallTime> ended_at;
  std::optional<Attempt> live;  // the attempt that has not ended
};

/// Where the cluster chooses the nodes: whether it has chosen all of them.
inline bool has_its_nodes(const Attempt& attempt) {
  return attempt.started_at.has_value() ||
         std::none_of(attempt.placements.begin(), attempt.placements.end(),
                      [](const auto& one) { return one.node == kOpenNode; });
}

inline AttemptRef ref_of(const Job& job, int attempt) { return {job.seq, job.id, attempt}; }

}  // namespace muster
