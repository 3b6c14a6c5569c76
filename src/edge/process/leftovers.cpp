#include "edge/process/leftovers.hpp"

#include <csignal>

namespace muster::process {

Leftovers::Leftovers(const std::optional<ShimMark>& mark, std::vector<std::string> marks,
                     bool owns_slot)
    : is_slot_ours_(owns_slot), marks_(std::move(marks)) {
  if (mark) slot_ = mark->slot;
}

bool Leftovers::sweep() { return slot_.exists() ? sweep_slot() : sweep_marked(); }

bool Leftovers::sweep_slot() {
  if (!is_slot_ours_) {
    auto lock = lock_slot(slot_);
    if (!lock) return lock.error().kind == Kind::not_found;  // no such cgroup: nobody in it
    // Somebody else has the slot now, and slots are given out empty: nothing of ours is in it.
    if (!*lock) return true;
    lock_ = std::move(**lock);
    is_slot_ours_ = true;
  }
  const auto cgroup = open_cgroup(slot_);
  killed_ += cgroup->kill_all();
  return cgroup->is_empty();
}

bool Leftovers::sweep_marked() {
  // Stopped first, again and again until no new one turns up: a stopped process cannot fork.
  constexpr int kRounds = 100;
  std::set<ProcessId> stopped;
  for (int round = 0; round < kRounds; ++round) {
    bool found_more = false;
    for (const auto id : marked_processes(marks_))
      if (stopped.insert(id).second) {
        send_signal(id, SIGSTOP);
        found_more = true;
      }
    if (!found_more) break;
  }
  for (const auto id : stopped)
    if (send_signal(id, SIGKILL) && seen_.insert(id).second) ++killed_;
  return stopped.empty();
}

}  // namespace muster::process
