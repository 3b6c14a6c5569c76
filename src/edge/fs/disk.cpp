#include "edge/fs/disk.hpp"

#include <sys/statvfs.h>

namespace muster::fs {

DiskRoom disk_room(const std::string& path) {
  struct statvfs about{};
  if (::statvfs(path.c_str(), &about) != 0) return {};
  return {.free = std::uint64_t{about.f_bavail} * about.f_frsize,
          .all = std::uint64_t{about.f_blocks} * about.f_frsize};
}

}  // namespace muster::fs
