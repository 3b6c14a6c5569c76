/// What the kernel counts for the container this process is in, where its cgroup can be read there,
/// of either version. Only read: limits are the runtime's. Single thread.
#pragma once
#include <optional>
#include <string>

#include "edge/process/cgroup.hpp"

namespace muster::process {

class ContainerCounters {
 public:
  /// Counts from now on. `root` is where a container has its own cgroup mounted.
  explicit ContainerCounters(std::string root = "/sys/fs/cgroup");
  /// Nothing where no cgroup of the container's own is in sight.
  std::optional<Counters> since() const;

 private:
  std::optional<Counters> totals() const;
  std::string root_;
  std::optional<Counters> base_;
};

/// Whether this is the first process of a container: what is mounted is its own then.
bool is_first_process();

}  // namespace muster::process
