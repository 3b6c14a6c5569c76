#include "edge/fs/lock_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/text.hpp"

namespace muster::fs {
namespace {

UniqueFd open_lock(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
}

/// Whether the path still leads to what was locked.
bool is_named(int fd, const std::string& path) {
  struct stat ours{}, there{};
  return ::fstat(fd, &ours) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

}  // namespace

Result<UniqueFd> lock_file(const std::string& path) {
  for (;;) {
    auto fd = open_lock(path);
    if (!fd) return fail_errno(fmt::format("cannot open {}", printable(path)), errno);
    while (::flock(fd.get(), LOCK_EX) != 0)
      if (errno != EINTR) return fail_errno(fmt::format("cannot lock {}", printable(path)), errno);
    if (is_named(fd.get(), path)) return fd;
  }
}

UniqueFd lock_file_now(const std::string& path) {
  auto fd = open_lock(path);
  if (fd && (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 || !is_named(fd.get(), path))) fd.reset();
  return fd;
}

}  // namespace muster::fs
