#include "app/server/row_cells.hpp"

#include "base/text.hpp"

namespace muster::server {
namespace {

std::string time_of(const std::optional<WallTime>& time) {
  return time ? std::to_string(time->us) : "";
}

/// "8", or "2x4" on two nodes, with the GPUs of all.
std::string size_of(const Request& request) {
  auto text = request.nodes > 1 ? fmt::format("{}x{}", request.nodes, request.procs_per_node)
                                : std::to_string(request.procs_per_node);
  const auto gpus = request.gpus_per_node * request.nodes;
  return gpus > 0 ? fmt::format("{}, {} gpu", text, gpus) : text;
}

std::string command_of(const JobSpec& spec) {
  if (spec.shell && spec.command.size() == 3) return printable(spec.command[2]);
  return printable(shell_quoted(spec.command));
}

/// What the state does not say already.
std::string end_of(const Job& job) {
  if (!is_final(job.state) || job.cause == Cause::success) return "";
  if (job.cause == Cause::cancelled)
    return job.cancelled_by.empty() ? "" : "by " + printable(job.cancelled_by);
  std::string text(name_of(job.cause));
  if (job.signal != 0) return text + fmt::format(" (signal {})", job.signal);
  return job.exit_code != 0 ? text + fmt::format(" (exit {})", job.exit_code) : text;
}

}  // namespace

std::string row_cells(const JobRow& row) {
  const auto& job = row.job;
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}", job.id.str(),
                     printable(job.name), name_of(job.state), job.submitted_at.us,
                     time_of(job.started_at), time_of(job.ended_at), size_of(job.request),
                     printable(job.user), printable(job.cluster), job.attempts,
                     command_of(row.spec), end_of(job));
}

}  // namespace muster::server
