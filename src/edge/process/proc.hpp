/// What the kernel says about processes, and signals that cannot hit a stranger: a process is named
/// by pid *and* start time, and signalled through a pidfd after that was checked again. Any thread.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.hpp"

namespace muster::process {

/// One process, for as long as the machine is up: a pid comes again, the pair does not.
struct ProcessId {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;
  auto operator<=>(const ProcessId&) const = default;
};

struct ProcessRow {
  ProcessId id;
  pid_t parent = 0;
  char state = '?';  // as in proc(5): R, S, D, T, Z ...
};

/// This boot's id; empty when the kernel does not tell.
std::string boot_id();
std::optional<ProcessRow> row_of(pid_t pid);
/// Every process there is, ours or not.
std::vector<ProcessRow> all_processes();
/// Everything below `root` (not itself), zombies left out.
std::vector<ProcessId> descendants_of(pid_t root);
/// A descriptor of exactly this process, or nothing when it is gone.
UniqueFd open_process(ProcessId id);
/// Sends when the process is still the one meant; tells whether it was.
bool send_signal(ProcessId id, int signal);

/// The variables that mark every process of one node of one attempt.
std::vector<std::string> markers(std::string_view home_id, std::string_view job, int attempt,
                                 int node);
/// Processes of our own user whose environment holds all of the markers, zombies left out.
std::vector<ProcessId> marked_processes(const std::vector<std::string>& marks);

}  // namespace muster::process
