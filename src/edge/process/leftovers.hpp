/// Kills what a dead supervisor left behind, and nothing else: the members of its slot, if the slot
/// is still its own; without cgroups, processes that carry the attempt's marks. One thread.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "edge/process/attempt_dir.hpp"
#include "edge/process/proc.hpp"

namespace muster::process {

class Leftovers {
 public:
  /// `owns_slot`: the caller holds the slot's lock already.
  Leftovers(const std::optional<ShimMark>& mark, std::vector<std::string> marks, bool owns_slot);
  /// One sweep; true once nothing is left. To be repeated until then.
  bool sweep();
  int killed() const { return killed_; }

 private:
  bool sweep_slot();
  bool sweep_marked();

  Slot slot_;
  UniqueFd lock_;
  bool is_slot_ours_;
  std::vector<std::string> marks_;
  std::set<ProcessId> seen_;
  int killed_ = 0;
};

}  // namespace muster::process
