/// Tells a person at a terminal why the job they follow does not run, while it does not. A
/// thread with its own connection; made after the signals are blocked.
#pragma once
#include <string>
#include <thread>

#include "app/cli/context.hpp"
#include "base/unique_fd.hpp"

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
  bool is_over_after(int milliseconds) const;

  std::string home_;
  std::string id_;
  std::size_t width_;
  std::string told_;  // the last reason told
  UniqueFd over_;     // an eventfd: readable when the job is not followed any more
  std::thread thread_;
};

}  // namespace muster
