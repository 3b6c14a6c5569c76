/// Finds a program as a shell would and becomes it. For a freshly forked child, single-threaded.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace muster::process {

/// Why a program did not come to run: the shell's exit code for it, and a text for people.
struct ExecFailure {
  int exit = 126;  // 127: no such program; 126: it is there and cannot be run
  std::string why;
};

/// Returns only when it failed. The PATH searched is that of `env` (the job's), not our own; names
/// with a slash are taken as they are, against the current directory.
ExecFailure exec_program(const std::vector<std::string>& argv, const std::vector<std::string>& env);

/// Closes every descriptor from `first` on.
void close_from(int first);
/// The same without close_range(2), for kernels before 5.9.
void close_from_by_listing(int first);

}  // namespace muster::process
