#include "core/lifecycle/classify.hpp"

#include <csignal>
#include <string_view>

namespace muster::lifecycle {
namespace {

struct Found {
  const NodeEnd* end = nullptr;
  const RankExit* rank = nullptr;
};

/// The rank that failed first, by its machine's own clock.
Found first_failure(const std::vector<NodeEnd>& ends) {
  Found first;
  for (const auto& end : ends) {
    if (!end.record) continue;
    for (const auto& rank : end.record->ranks)
      if (rank.failed() && (first.rank == nullptr || rank.ended_run_us < first.rank->ended_run_us))
        first = {&end, &rank};
  }
  return first;
}

const NodeEnd* first_killed(const std::vector<NodeEnd>& ends, std::string_view prefix) {
  for (const auto& end : ends)
    if (end.record && std::string_view(end.record->killed_by).starts_with(prefix)) return &end;
  return nullptr;
}

const NodeEnd* first_loss(const std::vector<NodeEnd>& ends) {
  for (const auto& end : ends)
    if (!end.record) return &end;
  return nullptr;
}

std::int64_t oom_kills_of(const ExitRecord& record) {
  std::int64_t kills = 0;
  for (const auto& rank : record.ranks) kills += rank.oom_kills;
  return kills;
}

/// What a rank's own end says, once it is known that muster did not end it.
Cause cause_of(const NodeEnd& end, const RankExit& rank) {
  const bool not_started =
      !end.record->why.empty() && rank.signal == 0 && (rank.exit == 126 || rank.exit == 127);
  if (not_started && end.record->why.starts_with("cwd "))
    return end.record->why.find("denied") == std::string::npos ? Cause::missing_file
                                                               : Cause::permission;
  if (not_started) return Cause::exec_failed;
  // Somebody sent it a signal through muster: an end of its own, and the evidence says so.
  if (rank.signal != 0 && rank.signal == end.record->handed_on) return Cause::user_code;
  if (oom_kills_of(*end.record) > 0) return Cause::host_oom;
  switch (rank.signal) {
    case 0:
    case SIGABRT:
    case SIGFPE:
    case SIGILL:
    case SIGTRAP:
    case SIGSYS:
    case SIGXCPU:
    case SIGXFSZ:
    case SIGPIPE: return Cause::user_code;
    case SIGSEGV:
    case SIGBUS: return Cause::segfault;
    default: return Cause::killed_unknown;
  }
}

std::string how(const RankExit& rank) {
  return rank.signal != 0 ? fmt::format("rank {} was ended by signal {}", rank.rank, rank.signal)
                          : fmt::format("rank {} ended with exit code {}", rank.rank, rank.exit);
}

void add_usage(AttemptEnded& out, const std::vector<NodeEnd>& ends) {
  for (const auto& end : ends) {
    if (!end.record) continue;
    for (const auto& rank : end.record->ranks) {
      out.cpu_s += static_cast<double>(rank.cpu_us) / 1e6;
      out.peak_bytes = std::max(out.peak_bytes, rank.peak_bytes);
      out.oom_kills += rank.oom_kills;
      // A record that had to be cut tells no times: those of the events stand.
      if (rank.started.us > 0 && (!out.started_at || rank.started < *out.started_at))
        out.started_at = rank.started;
      if (rank.ended.us > 0 && (!out.ended_at || rank.ended > *out.ended_at))
        out.ended_at = rank.ended;
    }
  }
}

/// Ended by muster or by a loss: nothing the ranks say counts then. Returns none if they ended by
/// themselves.
Cause outside_cause(const Job& job, const std::vector<NodeEnd>& ends,
                    std::vector<std::string>& evidence) {
  if (first_killed(ends, "abort") != nullptr) {
    evidence.push_back(fmt::format("stopped on request of {}",
                                   job.cancelled_by.empty() ? "muster" : job.cancelled_by));
    return Cause::cancelled;
  }
  if (const auto* loss = first_loss(ends)) {
    evidence.push_back(loss->evidence);
    return job.cancelled_by.empty() ? loss->loss : Cause::cancelled;
  }
  for (const auto cause :
       {Cause::setup_failed, Cause::corrupt_input, Cause::disk_full, Cause::never_started,
        Cause::image_pull, Cause::user_config, Cause::barrier_timeout, Cause::queue_preempted})
    if (const auto* end = first_killed(ends, name_of(cause))) {
      evidence.push_back(end->record->killed_by);
      return cause;
    }
  if (first_killed(ends, "shutdown") != nullptr) {
    evidence.emplace_back("the machine was shutting down");
    return Cause::host_reboot;
  }
  if (first_killed(ends, "time_limit") != nullptr) {
    evidence.emplace_back("its time limit had passed");
    return Cause::time_limit;
  }
  return Cause::none;
}

/// No rank is known to have failed: that is a success only if nobody was told to end.
Cause cause_without_failure(const std::vector<NodeEnd>& ends, std::vector<std::string>& evidence) {
  for (const auto& end : ends)
    if (end.record && !end.record->killed_by.empty()) {
      evidence.push_back(fmt::format("it was told to end ({}), and nothing says which rank failed",
                                     end.record->killed_by));
      return Cause::lost;
    }
  return Cause::success;
}

}  // namespace

AttemptEnded classify(const Job& job, const Attempt& attempt, const std::vector<NodeEnd>& ends) {
  AttemptEnded out{.attempt = attempt.n};
  add_usage(out, ends);
  const auto first = first_failure(ends);
  if (first.rank != nullptr) {
    out.exit_code = first.rank->exit;
    out.signal = first.rank->signal;
    out.first_failed_rank = first.rank->rank;
  }
  out.cause = outside_cause(job, ends, out.evidence);
  if (out.cause == Cause::none && first.rank != nullptr)
    out.cause = cause_of(*first.end, *first.rank);
  if (out.cause == Cause::none) out.cause = cause_without_failure(ends, out.evidence);
  if (first.rank != nullptr) {
    const auto& node = attempt.placements[static_cast<std::size_t>(first.end->node)].node;
    out.evidence.push_back(fmt::format("{} on node {}", how(*first.rank), node.str()));
    if (!first.end->record->why.empty()) out.evidence.push_back(first.end->record->why);
    if (first.rank->signal != 0 && first.rank->signal == first.end->record->handed_on)
      out.evidence.emplace_back("that signal had been sent to it through muster");
  }
  if (first.rank == nullptr)
    for (const auto& end : ends)
      if (end.record && !end.record->why.empty()) out.evidence.push_back(end.record->why);
  if (out.oom_kills > 0)
    out.evidence.push_back(
        fmt::format("the kernel ended {} of its processes for lack of memory", out.oom_kills));
  return out;
}

}  // namespace muster::lifecycle
