/// How fast we may ask: so many at once, so many a second after that. Pure; one thread.
#pragma once
#include <algorithm>
#include <chrono>

#include "base/time.hpp"

namespace muster::kube {

class Bucket {
 public:
  using Time = std::chrono::steady_clock::time_point;
  Bucket(double per_second, double burst)
      : per_second_(std::max(per_second, 0.001)), burst_(std::max(burst, 1.0)), left_(burst_) {}

  /// Takes a turn; how long it is until it comes.
  Duration take(Time now) {
    if (now > last_) {
      if (last_ != Time{})
        left_ = std::min(burst_,
                         left_ + std::chrono::duration<double>(now - last_).count() * per_second_);
      last_ = now;
    }
    left_ -= 1;
    if (left_ >= 0) return Duration::zero();
    return Duration(static_cast<std::int64_t>(-left_ / per_second_ * 1e6));
  }

 private:
  double per_second_;
  double burst_;
  double left_;
  Time last_{};
};

}  // namespace muster::kube
