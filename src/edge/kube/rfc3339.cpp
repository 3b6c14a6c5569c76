#include "edge/kube/rfc3339.hpp"

#include <algorithm>
#include <string>

#include "base/time.hpp"

namespace muster::kube {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// "Z", "+02:00": how far local time is ahead, in seconds.
std::optional<std::int64_t> offset_of(std::string_view text) {
  if (text == "Z") return 0;
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  for (const std::size_t at : {1, 2, 4, 5})
    if (!is_digit(text[at])) return std::nullopt;
  const std::int64_t hours = (text[1] - '0') * 10 + (text[2] - '0');
  const std::int64_t minutes = (text[4] - '0') * 10 + (text[5] - '0');
  const auto seconds = (hours * 60 + minutes) * 60;
  return text[0] == '+' ? seconds : -seconds;
}

}  // namespace

std::optional<std::int64_t> nanoseconds_of(std::string_view text) {
  constexpr std::size_t kWhole = 19;  // 2026-03-01T12:00:00
  if (text.size() <= kWhole) return std::nullopt;
  const auto at = parse_rfc3339(std::string(text.substr(0, kWhole)) + "Z");
  if (!at) return std::nullopt;
  auto rest = text.substr(kWhole);
  std::int64_t nanos = 0;
  if (rest.front() == '.') {
    rest.remove_prefix(1);
    for (std::int64_t unit = kSecond / 10; !rest.empty() && is_digit(rest.front()); unit /= 10) {
      nanos += (rest.front() - '0') * unit;
      rest.remove_prefix(1);
    }
  }
  const auto offset = offset_of(rest);
  if (!offset) return std::nullopt;
  const auto seconds = at->us / 1'000'000 - *offset;
  if (seconds < 0) return std::nullopt;
  // Nanoseconds in 64 bits end in 2262; what is later ("never") is then.
  return std::min(seconds, INT64_MAX / kSecond - 1) * kSecond + nanos;
}

}  // namespace muster::kube
