/// A few threads that take work in order. Each has a slot number, so that it can own something (a
/// read connection) without sharing.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace muster::server {

class WorkPool {
 public:
  WorkPool(const char* name, std::size_t threads);
  /// Work still waiting is dropped; work under way is finished.
  ~WorkPool();
  void run(std::function<void(std::size_t slot)> work);

 private:
  void loop(std::size_t slot);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void(std::size_t)>> waiting_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace muster::server
