/// What a set-up writes into its log, as lines of the pod's log while it is being written. One
/// thread.
#pragma once
#include <string>

#include "app/agent/pod_output.hpp"
#include "base/unique_fd.hpp"

namespace muster::agent {

class SetupTail {
 public:
  /// `output` must outlive it. The file need not be there yet.
  SetupTail(std::string path, int rank, PodOutput& output)
      : path_(std::move(path)), output_(output), writer_(rank, PodStream::setup) {}
  /// Passes on what is new, as far as there is room.
  void read();
  void finish();

 private:
  std::string path_;
  PodOutput& output_;
  PodLineWriter writer_;
  UniqueFd fd_;
};

}  // namespace muster::agent
