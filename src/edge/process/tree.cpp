#include "edge/process/tree.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <set>

#include "edge/process/proc.hpp"

namespace muster::process {
namespace {

bool has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

/// Of a pid namespace: then everything else in it is ours, and no /proc is needed to find it.
bool is_first_process() { return ::getpid() == 1; }

/// A stopped process cannot fork, so rounds of stopping come to an end; a killed one might have
/// forked in the meantime.
void stop_then_kill_descendants() {
  constexpr int kRounds = 100;
  std::set<ProcessId> stopped;
  for (int round = 0; round < kRounds; ++round) {
    bool found_more = false;
    for (const auto id : descendants_of(::getpid()))
      if (stopped.insert(id).second) {
        send_signal(id, SIGSTOP);
        found_more = true;
      }
    if (!found_more) break;
  }
  for (const auto id : stopped) send_signal(id, SIGKILL);
}

}  // namespace

void ProcessTree::signal_all(int signal) {
  if (cgroup_.signal_all(signal) > 0) return;
  if (is_first_process()) {
    ::kill(-1, signal);
    return;
  }
  for (const auto id : descendants_of(::getpid())) send_signal(id, signal);
}

void ProcessTree::kill_sweep() {
  if (cgroup_.kill_all() > 0) return;
  if (is_first_process())
    ::kill(-1, SIGKILL);
  else if (has_children())
    stop_then_kill_descendants();
}

bool ProcessTree::is_gone() const { return !has_children() && cgroup_.is_empty(); }

}  // namespace muster::process
