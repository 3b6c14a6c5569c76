/// A cgroup that holds the processes of one node of one attempt: what cannot leave it can be found,
/// counted and killed whatever it did to hide. `none` stands in where no cgroup is writable: it
/// counts nothing and is always empty, and the process tree is all there is (tree.hpp).
/// A second kernel interface (v2) is one more implementation and one more field in Slot.
/// Used by one thread at a time.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "base/units.hpp"

namespace muster::process {

/// Where a slot is: one directory per v1 hierarchy that was writable. All empty: no cgroup.
struct Slot {
  std::string memory;
  std::string cpuacct;
  std::string freezer;
  bool exists() const { return !memory.empty() || !cpuacct.empty() || !freezer.empty(); }
  std::vector<std::string> dirs() const;
  auto operator<=>(const Slot&) const = default;
};

/// The word for shim.json and doctor: "cgroup v1" or "none".
std::string_view tier_of(const Slot& slot);

/// What happened in the slot since it was prepared.
struct Counters {
  std::int64_t cpu_us = 0;
  std::int64_t peak_bytes = 0;
  std::int64_t oom_kills = 0;
};

struct Cgroup {
  virtual ~Cgroup() = default;
  /// Files a process writes "0" into to enter.
  virtual std::vector<std::string> join_files() const = 0;
  /// Ready for its next user: counters at zero, thawed, with this memory limit (0: none).
  virtual Result<> prepare(Bytes memory_limit) = 0;
  virtual Counters counters() const = 0;
  virtual bool is_empty() const = 0;
  /// To every member, each checked to be one; gives how many were reached.
  virtual int signal_all(int signal) = 0;
  /// One sweep: freeze, kill, thaw. To be repeated until it is empty.
  virtual int kill_all() = 0;
};

std::unique_ptr<Cgroup> open_cgroup(const Slot& slot);

/// Whoever holds a slot's lock owns it. Nothing when somebody else does. The lock goes with the
/// open description, so it can be handed on to another process without a gap.
Result<std::optional<UniqueFd>> lock_slot(const Slot& slot);

}  // namespace muster::process
