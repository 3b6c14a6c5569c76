#include "app/driver/real_clock.hpp"

#include <algorithm>

#include "edge/fs/files.hpp"

namespace muster::driver {

RunTime run_time_now(const ClockBase& base, const std::string& boot_id, std::int64_t boottime_us,
                     WallTime wall) {
  const bool same_boot = base.boot_id == boot_id && boottime_us >= base.boottime_us;
  const Duration passed = same_boot ? Duration(boottime_us - base.boottime_us) : wall - base.wall;
  return base.run + std::max(passed, Duration(0));
}

RealClock::RealClock(const ClockBase& base, const std::string& boot_id) {
  const auto boottime = fs::boottime_us();
  offset_us_ = run_time_now(base, boot_id, boottime, WallTime{fs::walltime_us()}).us - boottime;
}

Now RealClock::now() {
  return {.wall = {fs::walltime_us()}, .run = {fs::boottime_us() + offset_us_}};
}

}  // namespace muster::driver
