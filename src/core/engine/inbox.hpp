/// What goes into a step of the engine and what comes out of it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "core/model/action.hpp"
#include "core/model/event.hpp"
#include "core/model/observation.hpp"
#include "core/model/reason.hpp"

namespace muster::engine {

/// Names a command's reply; made by the driver.
using Ticket = std::uint64_t;

/// What the store knew about the command's key.
struct KnownKey {
  JobSeq seq = 0;
  JobId id;
  std::string request_hash;
};

struct SubmitJob {
  Ticket ticket = 0;
  JobSpec spec;
  std::optional<KnownKey> known;  // looked up by the driver just before the step
};
struct AbortJob {
  Ticket ticket = 0;
  JobSeq seq = 0;
  std::string by;
};
struct SignalJob {
  Ticket ticket = 0;
  JobSeq seq = 0;
  int number = 0;
};
struct InventorySeen {
  Inventory inventory;
};
struct Seen {
  Observation observation;
};

using Input = std::variant<SubmitJob, AbortJob, SignalJob, InventorySeen, Seen>;

/// The answer to a command. An id that is not live any more is answered with an empty id: the
/// driver looks such jobs up in the store.
struct Answer {
  JobSeq seq = 0;
  JobId id;
  bool existed = false;          // the key named a job that was there
  std::vector<Reason> warnings;  // what will keep it from running
};
struct Reply {
  Ticket ticket = 0;
  Result<Answer> answer;
};

struct Outbox {
  std::vector<Event> events;
  std::vector<Job> jobs;  // rows touched by the events, as they are now
  std::vector<std::pair<JobSeq, Attempt>> ended;
  std::vector<Action> actions;
  std::vector<Reply> replies;
  std::optional<RunTime> wake;  // step again no later than this
};

}  // namespace muster::engine
