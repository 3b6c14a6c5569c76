/// How the ranks of one attempt on one node ended, as recorded by their supervisor (exit.json).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.hpp"

namespace muster {

struct RankExit {
  int rank = 0;
  int exit = 0;    // exit code when signal is 0
  int signal = 0;  // the signal that ended it, or 0
  WallTime started;
  WallTime ended;
  std::int64_t ended_run_us =
      0;  // the machine's boot clock: orders failures whatever the wall does
  std::int64_t cpu_us = 0;
  std::int64_t peak_bytes = 0;
  std::int64_t oom_kills = 0;
  std::int64_t out_bytes = 0;
  std::int64_t err_bytes = 0;
  std::string out_xxh3;
  std::string err_xxh3;
  bool failed() const { return exit != 0 || signal != 0; }
};

struct ExitRecord {
  std::vector<RankExit> ranks;  // empty: nothing was ever started
  std::string killed_by;  // "", "abort", "gang", "time_limit": who ended it before it ended itself
  std::string why;        // exec errors and the like, for people
  int handed_on = 0;      // the last signal sent to it on request (Ctrl-C), or 0
};

}  // namespace muster
