/// Tells a person at a terminal why the job they follow has not started, while it has not. A
/// thread with its own connection; made after the signals are blocked.
#pragma once
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "app/cli/context.hpp"

namespace muster {

class Waiting {
 public:
  Waiting(const Context& context, std::string id);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  void watch();
  /// False when there is nothing more to tell.
  bool look();
  bool is_over_after(std::chrono::milliseconds pause);

  std::string home_;
  std::string id_;
  std::size_t width_;
  std::string told_;  // the last reason told
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace muster
