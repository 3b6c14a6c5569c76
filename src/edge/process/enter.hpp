/// A place beside a rank that runs on this machine: its folder as it sees it, its variables, its
/// cgroup. For a single-threaded caller that becomes another program.
#pragma once
#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "core/model/plan.hpp"
#include "edge/process/exec_program.hpp"

namespace muster::process {

struct RankPlace {
  pid_t pid = 0;    // the rank's main process
  Environment env;  // what it was started with
};

/// Finds a rank by the variables that muster gave it. `conflict` when no process has them: it has
/// not begun, has ended, or runs with another environment than it was given.
Result<RankPlace> find_rank(std::string_view job, int attempt, int rank);

/// Enters the cgroup (by its join files) and the mounts of that process, goes to the folder where
/// it is, and becomes the program. Returns only when that failed.
Result<ExecFailure> become_neighbour(const RankPlace& place, const std::vector<std::string>& joins,
                                     const std::vector<std::string>& argv);

}  // namespace muster::process
