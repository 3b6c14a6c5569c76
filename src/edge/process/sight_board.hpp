/// What was last seen of each seat (one node of one attempt). Written by the watcher and, for what
/// it read itself, by the driver's thread; read by the driver's. Thread-safe.
#pragma once
#include <compare>
#include <map>
#include <mutex>
#include <optional>

#include "core/model/observation.hpp"

namespace muster::process {

struct SeatKey {
  AttemptRef ref;
  int node = 0;
  auto operator<=>(const SeatKey&) const = default;
};

class SightBoard {
 public:
  std::optional<Sight> find(const SeatKey& key) const {
    const std::lock_guard hold(mutex_);
    const auto at = sights_.find(key);
    return at == sights_.end() ? std::nullopt : std::optional<Sight>(at->second);
  }
  void put(const SeatKey& key, Sight sight) {
    const std::lock_guard hold(mutex_);
    sights_[key] = std::move(sight);
  }
  /// Only where nothing was known; tells whether it was so.
  bool put_first(const SeatKey& key, Sight sight) {
    const std::lock_guard hold(mutex_);
    return sights_.try_emplace(key, std::move(sight)).second;
  }
  void erase(const SeatKey& key) {
    const std::lock_guard hold(mutex_);
    sights_.erase(key);
  }

 private:
  mutable std::mutex mutex_;
  std::map<SeatKey, Sight> sights_;
};

}  // namespace muster::process
