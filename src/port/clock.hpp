/// Time, asked for by a driver and passed down. Nothing below a driver reads a clock.
#pragma once
#include "base/time.hpp"

namespace muster {

struct Clock {
  virtual ~Clock() = default;
  virtual Now now() = 0;
};

}  // namespace muster
