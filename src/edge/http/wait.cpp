#include "edge/http/wait.hpp"

#include <algorithm>
#include <cerrno>
#include <vector>

namespace muster::http {
namespace {

using std::chrono::steady_clock;

constexpr auto kFlagLook = std::chrono::milliseconds(250);

Result<> cancelled() { return fail(Kind::cancelled, "broken off while talking to the server"); }

bool is_set(const Stop& stop) { return stop.flag != nullptr && stop.flag->load(); }

}  // namespace

Deadline after(Duration duration) {
  return duration == Duration::max() ? Deadline::max() : steady_clock::now() + duration;
}

Result<bool> wait_any(std::span<pollfd> watched, const Stop& stop, Deadline deadline) {
  std::vector<pollfd> all(watched.begin(), watched.end());
  all.push_back({.fd = stop.fd, .events = POLLIN, .revents = 0});
  for (;;) {
    if (is_set(stop)) TRY_VOID(cancelled());
    const auto now = steady_clock::now();
    auto left = deadline - now;
    if (left < left.zero()) left = left.zero();
    if (stop.flag != nullptr && left > kFlagLook) left = kFlagLook;
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    const int count =
        ::poll(all.data(), all.size(), static_cast<int>(std::min<std::int64_t>(ms, 1'000'000)));
    if (count < 0 && errno != EINTR) return fail_errno("cannot wait for the server", errno);
    if (count > 0 && all.back().revents != 0) TRY_VOID(cancelled());
    std::copy(all.begin(), all.end() - 1, watched.begin());
    if (count > 0) return true;
    if (count == 0 && steady_clock::now() >= deadline) return false;
  }
}

Result<bool> wait_for(int fd, short events, const Stop& stop, Deadline deadline) {
  pollfd one{.fd = fd, .events = events, .revents = 0};
  return wait_any({&one, 1}, stop, deadline);
}

}  // namespace muster::http
