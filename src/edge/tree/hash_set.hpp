/// Hashes that were seen, in little memory: half of each is kept, which is enough to tell them
/// apart. Single thread.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/tree/entry.hpp"

namespace muster::snapshot {

class HashSet {
 public:
  bool has(const tree::Hash& hash) const {
    return !slots_.empty() && slots_[place_of(hash)].is_used();
  }
  /// False when it was there.
  bool insert(const tree::Hash& hash) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    auto& slot = slots_[place_of(hash)];
    if (slot.is_used()) return false;
    slot = Slot::of(hash);
    ++size_;
    return true;
  }

 private:
  struct Slot {
    std::uint64_t first = 0, second = 0;
    static Slot of(const tree::Hash& hash) {
      Slot slot;
      std::memcpy(&slot.first, hash.bytes.data(), 8);
      std::memcpy(&slot.second, hash.bytes.data() + 8, 8);
      if (!slot.is_used()) slot.second = 1;
      return slot;
    }
    bool is_used() const { return (first | second) != 0; }
    bool operator==(const Slot&) const = default;
  };
  std::size_t place_of(const Slot& wanted) const {
    auto at = wanted.first & (slots_.size() - 1);
    while (slots_[at].is_used() && slots_[at] != wanted) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  std::size_t place_of(const tree::Hash& hash) const { return place_of(Slot::of(hash)); }
  void grow() {
    std::vector<Slot> old(std::max<std::size_t>(1024, 2 * slots_.size()));
    old.swap(slots_);
    for (const auto& slot : old)
      if (slot.is_used()) slots_[place_of(slot)] = slot;
  }
  std::vector<Slot> slots_;  // a power of two
  std::size_t size_ = 0;
};

}  // namespace muster::snapshot
