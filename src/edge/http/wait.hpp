/// Waiting for a descriptor, with a deadline and a way to be broken off. Any thread.
#pragma once
#include <poll.h>

#include <atomic>
#include <chrono>
#include <span>

#include "base/error.hpp"
#include "base/time.hpp"

namespace muster::http {

/// What breaks a wait off; either part may be absent. With a descriptor that becomes readable (a
/// signalfd, a pipe) the wait sleeps until then; a flag alone is looked at four times a second
/// and after every signal.
struct Stop {
  int fd = -1;
  const std::atomic<bool>* flag = nullptr;
};

using Deadline = std::chrono::steady_clock::time_point;
/// How long something may take from now on; Duration::max() is for ever.
Deadline after(Duration duration);

/// Waits until one of them is ready, the stop (`cancelled`), or the deadline (false). Negative
/// descriptors are passed over.
Result<bool> wait_any(std::span<pollfd> watched, const Stop& stop, Deadline deadline);
/// Waits for `events` on `fd` (none with -1), the stop (`cancelled`), or the deadline (false).
Result<bool> wait_for(int fd, short events, const Stop& stop, Deadline deadline);

}  // namespace muster::http
