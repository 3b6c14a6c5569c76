/// exit.json, with its place on the disk taken before the job starts: a job that fills the disk can
/// still be recorded. Single thread.
#pragma once
#include <cstddef>
#include <string>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace muster::process {

class ExitFile {
 public:
  ExitFile() = default;
  /// `dir_fd` must outlive it.
  static Result<ExitFile> reserve(int dir_fd, std::size_t ranks);
  /// Writes the record and renames it into place; may be repeated after an error.
  Result<> publish(const std::string& text);
  /// Onto the disk: for when no server has committed what it says.
  void sync();
  /// Takes the reservation back.
  void discard();

 private:
  int dir_fd_ = -1;
  UniqueFd fd_;
};

}  // namespace muster::process
