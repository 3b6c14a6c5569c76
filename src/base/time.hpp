/// Two readings of time. `WallTime` is for people; `RunTime` (a stored base plus boot time since)
/// is for deadlines. Comparing the two does not compile.
#pragma once
#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace muster {

using Duration = std::chrono::microseconds;

template <class Tag>
struct Instant {
  std::int64_t us = 0;
  auto operator<=>(const Instant&) const = default;
  friend Instant operator+(Instant at, Duration by) { return {at.us + by.count()}; }
  friend Instant operator-(Instant at, Duration by) { return {at.us - by.count()}; }
  friend Duration operator-(Instant a, Instant b) { return Duration(a.us - b.us); }
};
using WallTime = Instant<struct WallTag>;
using RunTime = Instant<struct RunTag>;

struct Now {
  WallTime wall;
  RunTime run;
};

/// RFC 3339, UTC, microseconds: 2026-03-01T12:00:00.000000Z
std::string to_rfc3339(WallTime at);
Result<WallTime> parse_rfc3339(std::string_view text);

/// "90s", "5m", "1h30m", "250ms", "2d"; a bare number is seconds. Never negative.
Result<Duration> parse_duration(std::string_view text);
/// Short for people: "4.2s", "3m12s", "2h05m", "3d04h".
std::string to_text(Duration duration);

}  // namespace muster
