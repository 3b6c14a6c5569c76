/// Everything a shim started and everything that came of it, wherever it hid: the members of its
/// cgroup, and its descendants, which as a subreaper it inherits when their parents die. Single
/// thread.
#pragma once
#include "edge/process/cgroup.hpp"

namespace muster::process {

class ProcessTree {
 public:
  explicit ProcessTree(Cgroup& cgroup) : cgroup_(cgroup) {}
  /// To every process of it, each checked to be one.
  void signal_all(int signal);
  /// One sweep of killing. To be repeated, with children reaped between, until is_gone().
  void kill_sweep();
  /// Nothing is left, not even a zombie.
  bool is_gone() const;

 private:
  Cgroup& cgroup_;
};

}  // namespace muster::process
