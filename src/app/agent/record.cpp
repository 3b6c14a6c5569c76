#include "app/agent/record.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "app/agent/short_record.hpp"
#include "base/unique_fd.hpp"
#include "edge/fs/files.hpp"
#include "edge/process/attempt_dir.hpp"
#include "edge/process/files.hpp"

namespace muster::agent {
namespace {

constexpr int kStopped = 143;

/// The kubelet makes the file and has it mounted: it is written in place, never replaced.
Result<> write_termination(const std::string& path, const std::string& text) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!fd) return fail_errno(fmt::format("cannot open {}", path), errno);
  return within(process::write_all(fd.get(), text), path);
}

}  // namespace

Result<> leave_record(const ExitRecord& record, const AttemptRef& ref, std::int64_t epoch,
                      const RankOptions& options) {
  const auto told =
      write_termination(options.termination_log, short_record(record, ref.attempt, epoch));
  const auto kept = fs::write_whole(options.places.run() + "/exit.json",
                                    process::exit_text(record, ref.attempt, epoch));
  return told ? told : kept;
}

int exit_code_of(const ExitRecord& record) {
  const RankExit* first = nullptr;
  for (const auto& rank : record.ranks)
    if (rank.failed() && (first == nullptr || rank.ended_run_us < first->ended_run_us))
      first = &rank;
  const bool was_refused = record.killed_by.find(':') != std::string::npos;
  if (record.ranks.empty()) return was_refused ? kNeverStarted : kStopped;
  if (!record.killed_by.empty()) return kStopped;
  if (first == nullptr) return 0;
  return first->signal != 0 ? 128 + first->signal : first->exit;
}

}  // namespace muster::agent
