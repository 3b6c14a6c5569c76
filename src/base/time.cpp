#include "base/time.hpp"

#include <array>
#include <charconv>
#include <cstdio>

namespace muster {
namespace {

using std::chrono::days;
using std::chrono::microseconds;
using std::chrono::sys_days;

struct Unit {
  std::string_view name;
  std::int64_t us;
};
constexpr std::array kUnits{Unit{"ms", 1'000},        Unit{"us", 1},
                            Unit{"s", 1'000'000},     Unit{"m", 60'000'000},
                            Unit{"h", 3'600'000'000}, Unit{"d", 86'400'000'000}};
constexpr std::int64_t kMaxDurationUs = 100LL * 366 * 86'400'000'000;

const Unit* unit_at(std::string_view& text) {
  for (const auto& unit : kUnits)
    if (text.starts_with(unit.name)) {
      text.remove_prefix(unit.name.size());
      return &unit;
    }
  return nullptr;
}

}  // namespace

std::string to_rfc3339(WallTime at) {
  const std::chrono::sys_time<microseconds> time{microseconds(at.us)};
  const auto day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

Result<WallTime> parse_rfc3339(std::string_view text) {
  const auto bad = [&] {
    return fail(Kind::usage, fmt::format("not a time: \"{}\"", text),
                "write it as 2026-03-01T12:00:00Z");
  };
  const auto shape = std::string_view("0000-00-00T00:00:00");
  bool fits = text.size() > shape.size();
  for (std::size_t at = 0; fits && at < shape.size(); ++at)
    fits = shape[at] == '0' ? text[at] >= '0' && text[at] <= '9' : text[at] == shape[at];
  if (!fits) return bad();
  const auto number = [&](std::size_t at, std::size_t digits) {
    int value = 0;
    for (const char digit : text.substr(at, digits)) value = value * 10 + (digit - '0');
    return value;
  };
  const int year = number(0, 4), hour = number(11, 2), minute = number(14, 2),
            second = number(17, 2);
  const auto month = static_cast<unsigned>(number(5, 2)), day = static_cast<unsigned>(number(8, 2));
  std::string_view rest = text.substr(shape.size());
  std::int64_t micro = 0;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    std::int64_t scale = 100'000;
    while (!rest.empty() && rest.front() >= '0' && rest.front() <= '9') {
      micro += (rest.front() - '0') * scale;
      scale /= 10;
      rest.remove_prefix(1);
    }
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (rest != "Z" || !date.ok() || hour > 23 || minute > 59 || second > 59) return bad();
  const auto since = sys_days(date).time_since_epoch() + std::chrono::hours(hour) +
                     std::chrono::minutes(minute) + std::chrono::seconds(second);
  return WallTime{std::chrono::duration_cast<microseconds>(since).count() + micro};
}

Result<Duration> parse_duration(std::string_view text) {
  const auto bad = [text] {
    return fail(Kind::usage, fmt::format("not a duration: \"{}\"", text),
                "write it as 90s, 5m, 1h30m or 2d");
  };
  if (text.empty()) return bad();
  double total = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    double number = 0;
    const auto [end, error] =
        std::from_chars(rest.data(), rest.data() + rest.size(), number, std::chars_format::fixed);
    if (error != std::errc() || !(number >= 0 && number < 1e18)) return bad();
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    const Unit seconds{"s", 1'000'000};
    const Unit* unit = rest.empty() && total == 0 ? &seconds : unit_at(rest);
    if (unit == nullptr) return bad();
    total += number * static_cast<double>(unit->us);
    if (total > static_cast<double>(kMaxDurationUs))
      return fail(Kind::usage, fmt::format("duration \"{}\" is longer than a century", text));
  }
  return Duration(static_cast<std::int64_t>(total));
}

std::string to_text(Duration duration) {
  const auto us = duration.count();
  if (us < 0) return "-" + to_text(Duration(-us));
  const auto seconds = us / 1'000'000;
  if (us < 1'000'000) return fmt::format("{}ms", us / 1000);
  if (seconds < 10) return fmt::format("{}.{}s", seconds, us / 100'000 % 10);
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  if (seconds < 86'400) return fmt::format("{}h{:02}m", seconds / 3600, seconds / 60 % 60);
  return fmt::format("{}d{:02}h", seconds / 86'400, seconds / 3600 % 24);
}

}  // namespace muster
