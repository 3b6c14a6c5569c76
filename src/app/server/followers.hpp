/// Those who follow events: server-sent events from a sequence on, of one job or of all. Woken
/// after each commit; each reads the store on a reader's thread and holds back when its peer is
/// slow.
#pragma once
#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>

#include "app/server/office.hpp"

namespace muster::server {

class Followers {
 public:
  explicit Followers(Office& office) : office_(office) {}

  struct Wish {
    std::int64_t after = 0;
    std::optional<JobSeq> job;
    bool follow = true;
  };
  void add(Wish wish, std::shared_ptr<http::Stream> stream);
  /// Something was committed. Any thread.
  void wake();
  /// Keeps quiet streams alive and notices peers that left. Call every few seconds.
  void heartbeat();
  std::size_t count();

 private:
  struct One {
    Wish wish;
    std::shared_ptr<http::Stream> stream;
    std::atomic<bool> busy{false};
    std::atomic<bool> again{false};
    std::atomic<bool> done{false};
  };
  void advance(const std::shared_ptr<One>& one);
  void read_some(const std::shared_ptr<One>& one, Records& records);
  std::list<std::shared_ptr<One>> current();

  Office& office_;
  std::mutex mutex_;
  std::list<std::shared_ptr<One>> all_;
};

}  // namespace muster::server
