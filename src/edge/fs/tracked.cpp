#include "edge/fs/tracked.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.hpp"

namespace muster::fs {
namespace {

constexpr off_t kLargest = 256 << 20;

/// Nothing when there is none: a repository to which nothing was ever added.
Result<std::optional<std::string>> read_index(int top, const std::string& path) {
  const UniqueFd fd(::openat(top, path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd && errno == ENOENT) return std::nullopt;
  struct stat about{};
  if (!fd || ::fstat(fd.get(), &about) != 0 || !S_ISREG(about.st_mode))
    return fail_errno("cannot read git's index", fd ? EINVAL : errno);
  if (about.st_size > kLargest) return fail(Kind::exhausted, "git's index is too large");
  std::string bytes(static_cast<std::size_t>(about.st_size), '\0');
  for (std::size_t at = 0; at < bytes.size();) {
    const auto n = ::read(fd.get(), bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("cannot read git's index", errno);
    if (n == 0) bytes.resize(at);
    at += static_cast<std::size_t>(n);
  }
  return std::optional(std::move(bytes));
}

}  // namespace

void Tracked::read() const {
  const auto fail_with = [&](const Error& error) {
    const std::lock_guard lock(mutex_);
    fault_ = error.what;
    if (!error.fix.empty()) fault_ += "; " + error.fix.front();
  };
  const auto bytes = read_index(top_, index_);
  if (!bytes) return fail_with(bytes.error());
  if (!*bytes) return;
  auto index = tree::GitIndex::parse(**bytes);
  if (!index) return fail_with(index.error());
  names_ = std::move(*index);
}

tree::GitIndex::Holds Tracked::holds(std::string_view path) const {
  std::call_once(once_, [this] { read(); });
  return names_.holds(path);
}

std::string Tracked::fault() const {
  const std::lock_guard lock(mutex_);
  return fault_;
}

}  // namespace muster::fs
