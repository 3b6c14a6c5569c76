/// This machine's time. Run time goes on from what the store saw last: by the boot clock within one
/// boot, by the wall clock's advance across a reboot, never backwards.
#pragma once
#include <string>

#include "port/clock.hpp"

namespace muster::driver {

/// What was known when something was last committed.
struct ClockBase {
  RunTime run;
  WallTime wall;
  std::string boot_id;
  std::int64_t boottime_us = 0;
};

/// Run time at the boot-clock reading `boottime_us` of boot `boot_id`.
RunTime run_time_now(const ClockBase& base, const std::string& boot_id, std::int64_t boottime_us,
                     WallTime wall);

class RealClock final : public Clock {
 public:
  RealClock(const ClockBase& base, const std::string& boot_id);
  Now now() override;

 private:
  std::int64_t offset_us_;  // run time less boot time
};

}  // namespace muster::driver
