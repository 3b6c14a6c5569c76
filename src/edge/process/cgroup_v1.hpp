/// A slot in the v1 hierarchies memory, cpuacct and freezer, whichever there are.
#pragma once
#include <set>

#include "edge/process/cgroup.hpp"

namespace muster::process {

class CgroupV1 final : public Cgroup {
 public:
  explicit CgroupV1(Slot slot) : slot_(std::move(slot)) {}
  std::vector<std::string> join_files() const override;
  Result<> prepare(Bytes memory_limit) override;
  Counters counters() const override;
  bool is_empty() const override;
  int signal_all(int signal) override;
  int kill_all() override;

 private:
  Counters totals() const;
  std::set<int> members() const;
  void freeze_and_wait();

  Slot slot_;
  Counters base_;  // the kernel's counters never go back, ours are differences
};

/// The v1 directories this process is in, for the controllers we use; empty where there is none.
Slot own_v1_dirs();

}  // namespace muster::process
