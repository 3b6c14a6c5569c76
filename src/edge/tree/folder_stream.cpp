#include "edge/tree/folder_stream.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/text.hpp"
#include "edge/fs/below.hpp"

namespace muster::snapshot {
namespace {

using Kind = FolderEntry::Kind;

bool is_gone(int error) { return error == ENOENT || error == ENOTDIR || error == ELOOP; }

tl::unexpected<Error> cannot(std::string_view what, const std::string& path, int error) {
  const auto shown = path.empty() ? std::string("the job's folder") : printable(path);
  return fail_errno(fmt::format("cannot {} {}", what, shown), error);
}

/// Set by the kernel: as root under one name, in a user namespace under the other.
bool is_opaque_folder(int fd) {
  for (const char* name : {"trusted.overlay.opaque", "user.overlay.opaque"}) {
    char value = 0;
    if (::fgetxattr(fd, name, &value, 1) == 1 && value == 'y') return true;
  }
  return false;
}

Kind kind_of(const struct stat& about) {
  if (S_ISREG(about.st_mode)) return Kind::file;
  if (S_ISDIR(about.st_mode)) return Kind::folder;
  if (S_ISLNK(about.st_mode)) return Kind::link;
  const bool is_nothing = S_ISCHR(about.st_mode) && about.st_rdev == makedev(0, 0);
  return is_nothing ? Kind::whiteout : Kind::special;
}

/// Nothing when it is gone.
Result<std::optional<FolderEntry>> look_at(int folder, const std::string& name,
                                           const std::string& path) {
  struct stat about{};
  if (::fstatat(folder, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) {
    if (is_gone(errno)) return std::optional<FolderEntry>();
    return cannot("look at", path, errno);
  }
  FolderEntry entry{.path = path, .kind = kind_of(about), .target = {}};
  const bool is_link = entry.kind == Kind::link;
  entry.mode = static_cast<std::uint16_t>(is_link ? 0777 : about.st_mode & 0777);
  if (entry.kind == Kind::file) entry.size = static_cast<std::uint64_t>(about.st_size);
  if (!is_link) return std::optional(std::move(entry));
  entry.target.resize(4097);
  const auto n = ::readlinkat(folder, name.c_str(), entry.target.data(), entry.target.size());
  if (n < 0 && (is_gone(errno) || errno == EINVAL)) return std::optional<FolderEntry>();
  if (n < 0) return cannot("read the link", path, errno);
  entry.target.resize(static_cast<std::size_t>(n));
  return std::optional(std::move(entry));
}

Result<std::vector<std::string>> names_in(int folder, const std::string& path) {
  struct Close {
    void operator()(DIR* listing) const { ::closedir(listing); }
  };
  const int again = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, Close> listing(again < 0 ? nullptr : ::fdopendir(again));
  if (!listing) return cannot("list", path, errno);
  std::vector<std::string> names;
  errno = 0;
  while (const auto* entry = ::readdir(listing.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return cannot("list", path, errno);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

Result<FolderStream> FolderStream::open(const std::string& folder) {
  UniqueFd top(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!top) return cannot("open", folder, errno);
  FolderStream stream(std::move(top));
  bool is_opaque = false;
  TRY_VOID(within(stream.enter("", is_opaque), printable(folder)));
  return stream;
}

Result<bool> FolderStream::enter(const std::string& path, bool& is_opaque) {
  const auto folder = fs::open_below(top_.get(), path, O_RDONLY | O_DIRECTORY);
  if (!folder && is_gone(errno)) return false;
  if (!folder) return cannot("open", path, errno);
  is_opaque = is_opaque_folder(folder.get());
  TRY(const auto names, names_in(folder.get(), path));
  Level level;
  for (const auto& name : names) {
    TRY(auto entry, look_at(folder.get(), name, path.empty() ? name : path + "/" + name));
    if (entry) level.entries.push_back(std::move(*entry));
  }
  levels_.push_back(std::move(level));
  return true;
}

Result<std::optional<FolderEntry>> FolderStream::next() {
  while (!levels_.empty()) {
    auto& level = levels_.back();
    if (level.next == level.entries.size()) {
      levels_.pop_back();
      continue;
    }
    auto entry = std::move(level.entries[level.next++]);
    if (entry.kind != Kind::folder) return std::optional(std::move(entry));
    TRY(const bool is_there, enter(entry.path, entry.is_opaque));
    if (is_there) return std::optional(std::move(entry));
  }
  return std::optional<FolderEntry>();
}

Result<std::string> read_below(int top, const std::string& path, std::size_t limit) {
  const auto fd = fs::open_below(top, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!fd) return cannot("open", path, errno);
  std::string bytes;
  char buffer[65536];
  for (;;) {
    const auto n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannot("read", path, errno);
    if (n == 0) return bytes;
    bytes.append(buffer, static_cast<std::size_t>(n));
    if (bytes.size() > limit)
      return fail(muster::Kind::exhausted, fmt::format("{} is too large", printable(path)));
  }
}

}  // namespace muster::snapshot
