/// Removes environments that no unfinished job needs any more. Notes come from the driver's thread;
/// the removal runs on a reader's thread, seconds later, and asks the store first.
#pragma once
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "app/server/env_store.hpp"
#include "app/server/readers.hpp"
#include "core/model/job.hpp"

namespace muster::server {

class EnvKeeper {
 public:
  /// `present` are the environments an earlier server left: nobody else will name them.
  void attach(Readers& readers, EnvStore& envs, const std::vector<std::string>& present);
  /// Jobs that changed; final ones may have been the last of their environment.
  void note(const std::vector<Job>& changed);
  void sweep();

 private:
  Readers* readers_ = nullptr;
  EnvStore* envs_ = nullptr;
  std::mutex mutex_;
  std::set<std::string> candidates_;
};

}  // namespace muster::server
