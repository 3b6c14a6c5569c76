/// Collects once a day what nobody needs any more, and hourly while the disk is nearly full: starts
/// `muster snapshot prune --background` as a process of its own, which works at the lowest priority
/// and dies with the server. Killed anywhere, the next one goes on. The http thread alone; waits
/// for nothing.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/log.hpp"
#include "edge/fs/disk.hpp"

namespace muster::server {

/// When to begin: by the age of the last collection and how full the disk is. Pure.
bool is_collection_due(std::chrono::seconds since_last, const fs::DiskRoom& room);

class Collection {
 public:
  Collection(std::string home, Log& log) : home_(std::move(home)), log_(log) {}
  /// Ends one that is under way.
  ~Collection();
  /// Called every few seconds: begins one when it is time, sees to the one that works.
  void tick(const std::string& program);

 private:
  using Clock = std::chrono::steady_clock;
  void begin(const std::string& program);
  void see_to_it();

  std::string home_;
  Log& log_;
  pid_t pid_ = 0;  // 0: none is under way
  Clock::time_point begun_;
  std::optional<Clock::time_point> not_before_;
};

}  // namespace muster::server
