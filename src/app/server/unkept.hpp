/// Removes MUSTER_OUTPUT_DIR of jobs that keep nothing (`keep: none`), once they have ended. An
/// attempt cannot: the next one may want it. Notes come from the driver's thread, which only looks
/// into a set; the removal runs on a reader's thread, seconds later.
#pragma once
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "app/server/readers.hpp"
#include "core/model/job.hpp"

namespace muster::server {

class Unkept {
 public:
  explicit Unkept(std::string home) : home_(std::move(home)) {}
  /// Looks for jobs of earlier servers: those that ended without one, and those that live.
  void attach(Readers& readers);
  /// A job that keeps nothing is about to have outputs.
  void begun(const JobId& job);
  /// Jobs that changed, final ones among them.
  void note(const std::vector<Job>& changed);
  void sweep();

 private:
  void look_back(Records& records);
  void remove_outputs(const JobId& job) const;

  std::string home_;
  Readers* readers_ = nullptr;
  std::mutex mutex_;
  std::set<JobId> live_;
  std::vector<JobId> ended_;
};

}  // namespace muster::server
