/// A way to break off every wait of a client from another thread, once. `stop()` is what the waits
/// look at; the Cancel outlives them.
#pragma once
#include <sys/eventfd.h>

#include <atomic>
#include <cstdint>

#include "base/unique_fd.hpp"
#include "edge/http/wait.hpp"

namespace muster::kube {

class Cancel {
 public:
  Cancel() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  void set() {
    is_set_ = true;
    const std::uint64_t one = 1;
    // Only a full counter refuses it, and then it is readable already.
    [[maybe_unused]] const auto written = ::write(fd_.get(), &one, sizeof(one));
  }
  bool is_set() const { return is_set_; }
  http::Stop stop() const { return {.fd = fd_.get(), .flag = fd_ ? nullptr : &is_set_}; }

 private:
  UniqueFd fd_;
  std::atomic<bool> is_set_ = false;
};

}  // namespace muster::kube
