/// Recycled cgroups for attempts: `<own cgroup>/muster-<home8>/s<N>`. Making and removing a cgroup
/// is dear, so a slot is used again once it is empty; one that cannot be emptied is never used
/// again. A slot belongs to whoever holds its lock (cgroup.hpp), so slots of supervisors that
/// outlived an earlier server are left alone without being known. One thread.
#pragma once
#include <deque>
#include <optional>

#include "edge/process/cgroup.hpp"

namespace muster::process {

/// What containment to look for.
enum class TierChoice { best, none };

/// A slot with its lock. Without directories in the `none` tier.
struct HeldSlot {
  Slot slot;
  UniqueFd lock;
};

class SlotPool {
 public:
  SlotPool(std::string_view home_id, TierChoice choice);
  /// Removes the slots that nobody holds.
  ~SlotPool();
  SlotPool(const SlotPool&) = delete;
  SlotPool& operator=(const SlotPool&) = delete;

  std::string_view tier() const { return tier_of(base_); }
  /// An empty slot nobody else holds.
  Result<HeldSlot> acquire();
  /// Gives it back; a slot with processes in it is retired instead.
  void release(HeldSlot held);

 private:
  Slot numbered(int number) const;
  std::optional<HeldSlot> recycle_old(std::size_t most);

  Slot base_;
  std::deque<HeldSlot> free_;
  std::deque<int> old_;  // found at start: in use by others, or left behind
  int next_ = 0;
};

}  // namespace muster::process
