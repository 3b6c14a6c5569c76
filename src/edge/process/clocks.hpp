/// The three clocks of a supervisor: monotonic for its own deadlines (a suspended laptop does not
/// count), boot time to order what happened on this machine, wall time for people.
#pragma once
#include <ctime>

#include "base/time.hpp"

namespace muster::process {

inline std::int64_t clock_us(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}
inline Duration monotonic_now() { return Duration(clock_us(CLOCK_MONOTONIC)); }
inline std::int64_t boot_now_us() { return clock_us(CLOCK_BOOTTIME); }
inline WallTime wall_now() { return {clock_us(CLOCK_REALTIME)}; }

}  // namespace muster::process
