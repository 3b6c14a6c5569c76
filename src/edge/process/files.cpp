#include "edge/process/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

namespace muster::process {

Result<std::string> read_file(int dir_fd, const std::string& name) {
  // The job may write here: what lies under the name need not be a file, nor end.
  constexpr std::size_t kLargest = 64U << 20;
  const UniqueFd fd(::openat(dir_fd, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd && errno == ELOOP) return fail(Kind::corrupt, fmt::format("{} is a link", name));
  if (!fd) return fail_errno(fmt::format("cannot open {}", name), errno);
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode))
    return fail(Kind::corrupt, fmt::format("{} is not a file", name));
  std::string bytes;
  char piece[8192];
  for (;;) {
    const auto got = ::read(fd.get(), piece, sizeof piece);
    if (got == 0) return bytes;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(fmt::format("cannot read {}", name), errno);
    bytes.append(piece, static_cast<std::size_t>(got));
    if (bytes.size() > kLargest) return fail(Kind::corrupt, fmt::format("{} is too large", name));
  }
}

Result<> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail_errno("cannot write", errno);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

Result<> write_renamed(int dir_fd, const std::string& name, std::string_view bytes) {
  const std::string temporary = name + ".tmp";
  const UniqueFd fd(
      ::openat(dir_fd, temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd) return fail_errno(fmt::format("cannot make {}", name), errno);
  auto written = within(write_all(fd.get(), bytes), name);
  if (written && ::renameat(dir_fd, temporary.c_str(), dir_fd, name.c_str()) != 0)
    written = fail_errno(fmt::format("cannot rename {} into place", name), errno);
  if (!written) ::unlinkat(dir_fd, temporary.c_str(), 0);
  return written;
}

Result<> write_knob(const std::string& path, std::string_view value) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return fail_errno(fmt::format("cannot open {}", path), errno);
  // One call: the kernel takes each write as a whole value.
  if (::write(fd.get(), value.data(), value.size()) < 0)
    return fail_errno(fmt::format("cannot write \"{}\" to {}", value, path), errno);
  return {};
}

Result<UniqueFd> open_dir(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno(fmt::format("cannot open {}", path), errno);
  return fd;
}

Result<UniqueFd> make_dirs(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return open_dir(path);
  const auto slash = path.find_last_of('/');
  if (errno != ENOENT || slash == std::string::npos || slash == 0)
    return fail_errno(fmt::format("cannot make {}", path), errno);
  TRY_VOID(make_dirs(path.substr(0, slash)).map([](auto&&) {}));
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return fail_errno(fmt::format("cannot make {}", path), errno);
  return open_dir(path);
}

std::string short_name(int dir_fd, std::string_view name) {
  return fmt::format("/proc/self/fd/{}/{}", dir_fd, name);
}

}  // namespace muster::process
