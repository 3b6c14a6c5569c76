#include "edge/kube/log_dedup.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "base/time.hpp"

namespace muster::kube {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

}  // namespace

bool LogDedup::is_new(std::int64_t time, std::string_view text) {
  const auto hash = xxh3(text);
  for (auto at = cursor_; at < given_.size(); ++at) {
    if (given_[at].time != time || given_[at].hash != hash) continue;
    cursor_ = at + 1;  // what was skipped has left the log meanwhile
    return false;
  }
  const auto second = time / kSecond;
  if (second > second_) {
    second_ = second;
    std::erase_if(given_, [&](const Given& one) { return one.time < (second - 1) * kSecond; });
  }
  given_.push_back({time, hash});
  cursor_ = given_.size();
  return true;
}

std::string LogDedup::since() const {
  if (second_ < 0) return {};
  return to_rfc3339(WallTime{std::max<std::int64_t>(second_ - 1, 0) * 1'000'000});
}

}  // namespace muster::kube
