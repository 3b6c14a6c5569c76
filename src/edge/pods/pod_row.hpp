/// What is kept of a pod: the few words that decide what is to be done, never its JSON. Pure; any
/// thread.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/time.hpp"
#include "core/model/reason.hpp"

namespace boost::json {
class object;
}

namespace muster::pods {

/// How a container ended.
struct Terminated {
  std::string container;
  int exit = 0;
  int signal = 0;
  std::string reason;   // "Completed", "Error", "OOMKilled", "ContainerCannotRun", ...
  std::string message;  // the agent's record, or the runtime's words
  WallTime started;     // by the node's clock; 0: not told
  WallTime ended;
};

enum class Phase : std::uint8_t { pending, running, succeeded, failed };

struct PodRow {
  std::string name;
  std::string uid;
  std::uint64_t version = 0;  // of this state of it; 0: not told
  std::string job;            // the Job it belongs to, by name
  std::string owner;          // the uid of the Job that controls it; empty: none does
  int index = -1;             // which of the Job's pods
  std::string node;
  Phase phase = Phase::pending;
  bool is_deleting = false;
  bool is_gone = false;        // the object is no more; this is what was last seen
  bool is_missed = false;      // a list did not name it; whether it is gone is not known yet
  bool is_unlabelled = false;  // somebody took our labels off it: no watch of ours shows it
  bool has_finalizer = false;  // ours: its end is not committed yet
  bool has_started = false;    // the main container runs or ran: there may be a log
  bool is_running = false;
  bool is_starting = false;         // it runs, but its ranks have not begun
  bool has_container = false;       // the runtime named it: a log can be followed
  bool is_silent = false;           // runs, as far as is known: its node has stopped answering
  bool wants_code = false;          // its init container waits for the code
  std::optional<Reason> waits_for;  // what keeps it from running
  std::string disruption;           // why the cluster takes it away: "EvictionByEvictionAPI"
  std::string disruption_text;      // in the cluster's words
  std::string status_reason;        // "Evicted", "NodeAffinity", ...
  std::string status_text;
  std::optional<Terminated> ended;   // the main container
  std::optional<Terminated> failed;  // an init container that failed
  bool is_over() const { return phase == Phase::succeeded || phase == Phase::failed; }
};

/// Nothing when it is no pod of an Indexed Job.
std::optional<PodRow> read_pod(const boost::json::object& pod);

struct JobRow {
  std::string name;
  std::string uid;
  std::uint64_t version = 0;
  bool is_missed = false;  // as of a pod
  bool is_unlabelled = false;
  bool is_suspended = false;  // by a queue or a person: it has no pods until it is resumed
  std::string stop_why;       // why muster stopped it
};

std::optional<JobRow> read_job(const boost::json::object& job);

/// On each pod, by Kubernetes: its Job's name.
constexpr const char* kJobNameLabel = "batch.kubernetes.io/job-name";

/// On a Job that muster stops: why, so that the next server knows as well.
constexpr const char* kStopAnnotation = "muster.dev/stop";

}  // namespace muster::pods
