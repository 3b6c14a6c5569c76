#include "edge/fs/files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <memory>

#include "base/text.hpp"
#include "edge/fs/parent.hpp"

namespace muster::fs {
namespace {

Result<> write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const auto n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(fmt::format("cannot write {}", path), errno);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

enum class Durable { no, yes };

Result<> replace(const std::string& path, std::string_view bytes, unsigned mode, Durable durable) {
  const std::string temp = fmt::format("{}.{}.tmp", path, ::getpid());
  UniqueFd fd(::open(temp.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!fd) return fail_errno(fmt::format("cannot create {}", temp), errno);
  auto written = write_all(fd.get(), bytes, temp);
  if (written && durable == Durable::yes && ::fsync(fd.get()) != 0)
    written = fail_errno(fmt::format("cannot sync {}", temp), errno);
  if (written && ::rename(temp.c_str(), path.c_str()) != 0)
    written = fail_errno(fmt::format("cannot rename {} to {}", temp, path), errno);
  if (!written) {
    ::unlink(temp.c_str());
    return written;
  }
  if (durable == Durable::no) return {};
  UniqueFd dir(::open(parent_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!dir || ::fsync(dir.get()) != 0)
    return fail_errno(fmt::format("cannot sync the directory of {}", path), errno);
  return {};
}

std::int64_t clock_us(clockid_t clock) {
  timespec at{};
  ::clock_gettime(clock, &at);
  return std::int64_t{at.tv_sec} * 1'000'000 + at.tv_nsec / 1000;
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return fail_errno(fmt::format("cannot open {}", path), errno);
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode))
    return fail(Kind::usage, fmt::format("{} is not a file", printable(path)));
  std::string bytes;
  char buffer[16384];
  for (;;) {
    const auto n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(fmt::format("cannot read {}", path), errno);
    if (n == 0) return bytes;
    bytes.append(buffer, static_cast<std::size_t>(n));
    if (bytes.size() > limit)
      return fail(Kind::exhausted, fmt::format("{} is larger than {} bytes", path, limit));
  }
}

Result<> write_durably(const std::string& path, std::string_view bytes, unsigned mode) {
  return replace(path, bytes, mode, Durable::yes);
}
Result<> write_whole(const std::string& path, std::string_view bytes, unsigned mode) {
  return replace(path, bytes, mode, Durable::no);
}

Result<> make_dirs(const std::string& path, unsigned mode) {
  if (::mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return {};
  if (errno != ENOENT || parent_of(path) == path)
    return fail_errno(fmt::format("cannot make directory {}", path), errno);
  TRY_VOID(make_dirs(parent_of(path), mode));
  if (::mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return {};
  return fail_errno(fmt::format("cannot make directory {}", path), errno);
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

Result<> remove_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return fail_errno(fmt::format("cannot remove {}", path), errno);
}

std::vector<std::string> entries(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(path.c_str()), ::closedir);
  if (!dir) return names;
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> boot_id() {
  TRY(const auto text, read_file("/proc/sys/kernel/random/boot_id", 256));
  return std::string(trimmed(text));
}

std::int64_t boottime_us() { return clock_us(CLOCK_BOOTTIME); }
std::int64_t walltime_us() { return clock_us(CLOCK_REALTIME); }

}  // namespace muster::fs
