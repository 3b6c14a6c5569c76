/// Starts one program with exact bytes and a clean slate: job's own directory, limits, signals at
/// their defaults, no descriptor but the three given, in its cgroup before its first instruction,
/// and killed by the kernel when the caller dies. For a single-threaded caller.
#pragma once
#include <sys/types.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "core/model/plan.hpp"
#include "edge/process/exec_program.hpp"

namespace muster::process {

struct SpawnOrder {
  std::vector<std::string> argv;
  Environment env;
  std::string dir;
  int umask = 022;
  int nice = 0;
  std::map<std::string, std::int64_t> limits;  // soft limits by name; -1: as high as allowed
  std::array<int, 3> stdio{-1, -1, -1};
  std::vector<std::string> cgroup_files;  // each gets "0" written by the child
};

/// `pid` > 0: it runs, as leader of its own process group. Else nothing runs and `failure` says
/// why.
struct Spawned {
  pid_t pid = 0;
  ExecFailure failure;
};

/// Returns when the program has begun (or will not). An error is ours (no process, no cgroup), not
/// the program's.
Result<Spawned> spawn(const SpawnOrder& order);

/// The soft limit of one resource by its name in ulimit's words ("nofile"); nothing when unknown.
std::optional<std::int64_t> soft_limit(const std::string& name);

}  // namespace muster::process
