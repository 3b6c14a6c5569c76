/// How full a disk is. Any thread.
#pragma once
#include <cstdint>
#include <string>

namespace muster::fs {

struct DiskRoom {
  std::uint64_t free = 0;  // for this user
  std::uint64_t all = 0;   // 0: it could not be asked
  /// Less than a twentieth is left.
  bool is_low() const { return all > 0 && free < all / 20; }
};
DiskRoom disk_room(const std::string& path);

}  // namespace muster::fs
