#include "app/server/work_pool.hpp"

#include <pthread.h>

namespace muster::server {

WorkPool::WorkPool(const char* name, std::size_t threads) {
  for (std::size_t slot = 0; slot < threads; ++slot)
    threads_.emplace_back([this, slot, name] {
      ::pthread_setname_np(::pthread_self(), name);
      loop(slot);
    });
}

WorkPool::~WorkPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void WorkPool::run(std::function<void(std::size_t)> work) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
  }
  wake_.notify_one();
}

void WorkPool::loop(std::size_t slot) {
  for (;;) {
    std::function<void(std::size_t)> work;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
      if (stopping_) return;
      work = std::move(waiting_.front());
      waiting_.pop_front();
    }
    work(slot);
  }
}

}  // namespace muster::server
