#include "edge/pods/pod_sight.hpp"

#include <algorithm>
#include <csignal>

#include "core/model/codec.hpp"

namespace muster::pods {
namespace {

/// The agent's word for "somebody told me to end": who it was is known here, not there.
constexpr const char* kToldToEnd = "shutdown";

std::string sentence(std::string_view head, std::string_view words) {
  return words.empty() ? std::string(head) : fmt::format("{}: {}", head, words);
}

/// A node that died and one that was taken away end alike; an eviction is paid by nobody.
Lost disrupted(const PodRow& row) {
  const bool is_node_lost =
      row.disruption == "DeletionByPodGC" || row.disruption == "DeletionByTaintManager";
  const auto what = is_node_lost
                        ? fmt::format("node {} is gone ({})", row.node, row.disruption)
                        : fmt::format("evicted from node {} ({})", row.node, row.disruption);
  return {.cause = is_node_lost ? Cause::lost : Cause::eviction,
          .evidence = sentence(what, row.disruption_text)};
}

Lost removed(const PodRow& row, const Around& around) {
  if (around.is_suspended)
    return {.cause = Cause::queue_preempted,
            .evidence = fmt::format("Job {} was suspended, not by muster", row.job)};
  return {.cause = Cause::removed_externally,
          .evidence = fmt::format("pod {} was deleted, not by muster", row.name)};
}

Ended stopped(const Around& around) {
  return {ExitRecord{.ranks = {}, .killed_by = around.stop_why}};
}

/// What a record does not tell, for lack of room or because there is none, the container does.
void fill_times(ExitRecord& record, const Terminated& end) {
  for (auto& rank : record.ranks) {
    if (rank.started.us == 0) rank.started = end.started;
    if (rank.ended.us == 0) rank.ended = end.ended;
  }
}

/// Boot clocks of different machines do not compare; their wall clocks nearly do.
void use_wall_clock(ExitRecord& record) {
  for (auto& rank : record.ranks) rank.ended_run_us = rank.ended.us;
}

Sight recorded(const PodRow& row, ExitRecord record, const Around& around) {
  fill_times(record, *row.ended);
  use_wall_clock(record);
  const bool has_count = std::any_of(record.ranks.begin(), record.ranks.end(),
                                     [](const auto& rank) { return rank.oom_kills > 0; });
  if (row.ended->reason == "OOMKilled" && !has_count && !record.ranks.empty())
    record.ranks.front().oom_kills = 1;
  if (record.killed_by != kToldToEnd) return Ended{std::move(record)};
  if (!around.stop_why.empty()) {
    record.killed_by = around.stop_why;
    return Ended{std::move(record)};
  }
  if (!row.disruption.empty()) return disrupted(row);
  if (row.is_deleting || row.is_gone) return removed(row, around);
  record.killed_by.clear();
  return Ended{std::move(record)};
}

Ended exit_of(const Terminated& end, const Around& around) {
  RankExit rank{.rank = around.first_rank, .exit = end.exit, .signal = end.signal};
  if (end.signal == 0 && end.exit > 128 && end.exit < 128 + 65) {
    rank.signal = end.exit - 128;
    rank.exit = 0;
  }
  if (end.reason == "OOMKilled") {
    rank.oom_kills = 1;
    rank.signal = SIGKILL;
    rank.exit = 0;
  }
  ExitRecord record{
      .ranks = {rank},
      .killed_by = "",
      .why = sentence("the container ended without a record of its agent", end.reason)};
  fill_times(record, end);
  use_wall_clock(record);
  return {std::move(record)};
}

bool could_not_run(const Terminated& end) {
  return end.reason == "ContainerCannotRun" || end.reason == "StartError" ||
         end.reason == "RunContainerError";
}

/// The same image says the same the next time.
bool lacks_program(const Terminated& end) {
  return end.message.find("no such file or directory") != std::string::npos ||
         end.message.find("executable file not found") != std::string::npos ||
         end.message.find("exec format error") != std::string::npos;
}

Lost never_started(const Terminated& end) {
  return {.cause = lacks_program(end) ? Cause::user_config : Cause::never_started,
          .evidence = sentence(fmt::format("container {} could not run (exit code {}, {})",
                                           end.container, end.exit, end.reason),
                               end.message)};
}

/// It is over and its agent left no record.
Sight unrecorded(const PodRow& row, const Around& around) {
  if (!row.disruption.empty() && around.stop_why.empty()) return disrupted(row);
  if (row.status_reason == "Evicted")
    return Lost{Cause::eviction, sentence("evicted by its node", row.status_text)};
  if (row.ended && row.ended->reason == "OOMKilled") return exit_of(*row.ended, around);
  // Whoever was not told to end has ended by himself, whatever happened to the others since.
  const bool is_told = row.is_deleting || row.is_gone || !row.ended;
  if (!around.stop_why.empty() && is_told) return stopped(around);
  if (row.ended && could_not_run(*row.ended)) return never_started(*row.ended);
  if (row.is_deleting || row.is_gone) return removed(row, around);
  if (row.failed) return never_started(*row.failed);
  if (row.ended) return exit_of(*row.ended, around);
  return Lost{Cause::lost, sentence(fmt::format("pod {} failed", row.name),
                                    sentence(row.status_reason, row.status_text))};
}

/// It may still run there: nothing takes its place before the node is back or removed.
Unreachable cut_off(const PodRow& row) {
  return {.why = fmt::format("node {} does not answer: lost, waiting for node removal", row.node),
          .code = kNodeLost,
          .fix = "when the machine is gone for good, delete its Node object"};
}

Reason starting() {
  return {.code = "starting",
          .text = "its pods are being set up, or wait for each other",
          .fix = "see what a set-up prints: muster logs --setup -f ID"};
}

}  // namespace

Sight sight_of(const PodRow& row, const Around& around) {
  if (row.is_over() || row.ended || row.is_gone) {
    if (row.ended)
      if (auto record = decode_exit_record(row.ended->message))
        return recorded(row, std::move(*record), around);
    // A container that has ended may still get its status: wait for the pod's own word.
    if (row.is_over() || row.is_gone) return unrecorded(row, around);
  }
  // Asked to go, and still there: an answering node ends it within its grace.
  if (row.is_silent || (row.is_deleting && row.disruption == "DeletionByTaintManager"))
    return cut_off(row);
  if (row.is_deleting) return Alive{.state = AttemptState::stopping};
  if (row.is_starting)
    return Alive{.state = AttemptState::preparing, .failed_rank = -1, .waits_for = starting()};
  if (row.is_running) return Alive{.state = AttemptState::running};
  return Alive{.state = AttemptState::preparing, .failed_rank = -1, .waits_for = row.waits_for};
}

}  // namespace muster::pods
