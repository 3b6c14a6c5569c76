#include "edge/fs/below.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace muster::fs {
namespace {

/// The kernel takes paths of less than PATH_MAX (4096) bytes; names have up to 255.
constexpr std::size_t kLongestPiece = 4000;
constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

int open_checked(int folder, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags);
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH;
  return static_cast<int>(::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how));
}

/// For kernels and sandboxes without openat2: one name at a time.
UniqueFd open_by_names(int top, std::string_view path, int flags) {
  UniqueFd folder;
  for (;;) {
    const auto slash = path.find('/');
    const std::string name(path.substr(0, slash));
    const bool is_last = slash == std::string_view::npos;
    const int above = folder ? folder.get() : top;
    UniqueFd fd(::openat(above, name.c_str(), (is_last ? flags : kFolder) | O_NOFOLLOW));
    if (is_last || !fd) return fd;
    folder = std::move(fd);
    path.remove_prefix(slash + 1);
  }
}

UniqueFd open_piece(int folder, std::string_view path, int flags) {
  for (;;) {
    UniqueFd fd(open_checked(folder, std::string(path), flags));
    if (fd) return fd;
    // EAGAIN: something was renamed just then, and the kernel could not be sure.
    if (errno == EINTR || errno == EAGAIN) continue;
    if (errno != ENOSYS && errno != EPERM) return fd;
    return open_by_names(folder, path, flags);
  }
}

}  // namespace

UniqueFd open_below(int top, std::string_view path, int flags) {
  flags |= O_CLOEXEC | O_NOFOLLOW;
  if (path.empty()) return open_piece(top, ".", flags);
  UniqueFd folder;
  while (path.size() > kLongestPiece) {
    const auto cut = path.rfind('/', kLongestPiece);
    if (cut == std::string_view::npos) {
      errno = ENAMETOOLONG;
      return {};
    }
    auto next = open_piece(folder ? folder.get() : top, path.substr(0, cut), kFolder | O_NOFOLLOW);
    if (!next) return next;
    folder = std::move(next);
    path.remove_prefix(cut + 1);
  }
  return open_piece(folder ? folder.get() : top, path, flags);
}

}  // namespace muster::fs
