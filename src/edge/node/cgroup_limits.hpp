/// Limits of the cgroup this process is in, v2 or v1, the tightest on the way up. Absent: no limit.
#pragma once
#include <optional>

#include "base/units.hpp"
#include "edge/node/probe.hpp"

namespace muster::node {

struct CgroupLimits {
  std::optional<MilliCpus> cpus;
  std::optional<Bytes> memory;
};

CgroupLimits cgroup_limits(const Roots& roots);

}  // namespace muster::node
