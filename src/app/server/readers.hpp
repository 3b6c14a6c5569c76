/// Threads that read the store, each on its own connection and snapshot.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/server/work_pool.hpp"
#include "edge/sqlite/records.hpp"

namespace muster::server {

class Readers {
 public:
  Readers(std::string store_path, std::size_t threads);
  /// Runs on a reader's thread. When the store cannot be opened, `otherwise` gets the error.
  void run(std::function<void(Records&)> work, std::function<void(const Error&)> otherwise);

 private:
  std::string path_;
  std::vector<std::unique_ptr<Records>> records_;  // one a slot, touched by its thread alone
  WorkPool pool_;                                  // last: its threads go first
};

}  // namespace muster::server
