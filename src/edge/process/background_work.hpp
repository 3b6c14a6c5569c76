/// A piece of slow work in a child process: it may be killed at any time, and it takes no thread
/// from a supervisor that has only one. The child dies with its parent.
#pragma once
#include <functional>
#include <string>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace muster::process {

class BackgroundWork {
 public:
  /// Forks. The work must not need threads of the parent.
  static Result<BackgroundWork> begin(std::function<Result<>()> work);
  BackgroundWork(BackgroundWork&&) noexcept;
  BackgroundWork& operator=(BackgroundWork&&) = delete;
  /// Kills what is not over; somebody else reaps.
  ~BackgroundWork();

  /// Readable when there is something to hear.
  int fd() const { return pipe_.get(); }
  /// Hears what is there to hear.
  bool is_over();
  /// After its end: what it gave back.
  Result<> outcome() const;

 private:
  BackgroundWork(pid_t pid, UniqueFd pipe) : pid_(pid), pipe_(std::move(pipe)) {}
  pid_t pid_;
  UniqueFd pipe_;
  std::string said_;
};

}  // namespace muster::process
