/// What happened, in the order it was committed. Events are the truth; tables are their fold.
/// A new alternative fails to compile wherever it matters.
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "core/model/job.hpp"

namespace muster {

struct Submitted {
  JobId id;
  JobSpec spec;
};
struct Placed {
  int attempt = 0;
  std::int64_t epoch = 0;
  std::vector<Placement> placements;
  int port = 0;
};
/// The leased port was taken by a stranger before any rank started.
struct PortMoved {
  int attempt = 0;
  int port = 0;
};
/// The cluster has chosen the nodes of an attempt that was placed without them.
struct Seated {
  int attempt = 0;
  std::vector<NodeName> nodes;  // in the order of the placements
};
/// Every rank of the attempt runs.
struct Started {
  int attempt = 0;
};
/// One node of a gang ended while others have not.
struct NodeEnded {
  int attempt = 0;
  NodeEnd end;
};
/// The rest of a gang was told to stop because one of it ended.
struct GangStopped {
  int attempt = 0;
  int first_failed_rank = -1;
};
struct CancelRequested {
  std::string by;
};
struct AttemptEnded {
  int attempt = 0;
  Cause cause = Cause::none;
  int exit_code = 0;
  int signal = 0;
  int first_failed_rank = -1;
  std::vector<std::string> evidence;
  double cpu_s = 0;
  std::int64_t peak_bytes = 0;
  std::int64_t oom_kills = 0;
  std::optional<WallTime> started_at;  // as its supervisor recorded it
  std::optional<WallTime> ended_at;
};
/// The job goes back to the queue; `budget` paid for it.
struct Requeued {
  Budget budget = Budget::none;
  RunTime not_before;
};
struct Finished {
  JobState state = JobState::failed;
  Cause cause = Cause::none;
  int exit_code = 0;
  int signal = 0;
};

using EventBody = std::variant<Submitted, Placed, PortMoved, Seated, Started, NodeEnded,
                               GangStopped, CancelRequested, AttemptEnded, Requeued, Finished>;

struct Event {
  std::int64_t sequence = 0;
  WallTime at;
  std::string actor;  // who caused it: a user name, or "muster"
  JobSeq job = 0;
  EventBody body;
};

/// The word stored for an event's kind, and the version of its body.
std::string_view kind_of(const EventBody& body);
constexpr int kEventVersion = 1;

}  // namespace muster
