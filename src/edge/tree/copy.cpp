#include "edge/tree/copy.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <vector>

#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "edge/fs/below.hpp"

namespace muster::snapshot {
namespace {

tl::unexpected<Error> cannot(std::string_view what, std::string_view name, int error) {
  return fail_errno(fmt::format("cannot {} {}", what, printable(name)), error);
}

constexpr std::size_t kOpenFolders = 16;
constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Result<std::vector<std::string>> names_in(int folder) {
  struct Close {
    void operator()(DIR* dir) const { ::closedir(dir); }
  };
  const int again = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, Close> listing(again < 0 ? nullptr : ::fdopendir(again));
  if (!listing) return cannot("list", "a folder of the snapshot", errno);
  std::vector<std::string> names;
  while (const auto* entry = ::readdir(listing.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

/// Goes through the folders with a stack of its own; only the innermost are kept open, since a tree
/// may be deeper than a process may have descriptors. A folder gets its mode when it is left: it
/// may forbid writing.
class Copier {
 public:
  Copier(UniqueFd from, UniqueFd to) : from_(std::move(from)), to_(std::move(to)) {}

  Result<> run() {
    TRY(auto names, names_in(from_.get()));
    levels_.push_back({.path = {}, .mode = 0, .names = std::move(names), .in = {}, .out = {}});
    while (!levels_.empty()) {
      auto& level = levels_.back();
      if (level.next == level.names.size()) {
        TRY_VOID(leave());
        continue;
      }
      const auto name = level.names[level.next++];
      const auto path = level.path.empty() ? name : level.path + "/" + name;
      TRY_VOID(within(one(name, path), printable(path)));
    }
    return {};
  }
  CopyKind kind() const { return is_reflinked_ ? CopyKind::reflink : CopyKind::bytes; }

 private:
  struct Level {
    std::string path;
    mode_t mode = 0;
    std::vector<std::string> names;
    std::size_t next = 0;
    UniqueFd in, out;  // of the top: those of the whole copy
  };

  Result<> one(const std::string& name, const std::string& path) {
    TRY_VOID(open_again());
    const auto& level = levels_.back();
    const int from = level.path.empty() ? from_.get() : level.in.get();
    const int to = level.path.empty() ? to_.get() : level.out.get();
    struct stat info{};
    if (::fstatat(from, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
      return cannot("look at", name, errno);
    if (S_ISLNK(info.st_mode)) return link(from, to, name);
    if (S_ISDIR(info.st_mode)) return enter(from, to, name, path, info.st_mode & 0777);
    // A set-up may have left a pipe or a socket: nobody is at its other end any more.
    return S_ISREG(info.st_mode) ? file(from, to, name, info) : Result<>();
  }

  Result<> enter(int from, int to, const std::string& name, const std::string& path, mode_t mode) {
    if (::mkdirat(to, name.c_str(), 0700) != 0) return cannot("make", name, errno);
    Level level{.path = path, .mode = mode, .names = {}, .in = {}, .out = {}};
    level.in.reset(::openat(from, name.c_str(), kFolder));
    level.out.reset(::openat(to, name.c_str(), kFolder));
    if (!level.in || !level.out) return cannot("open", name, errno);
    TRY(level.names, names_in(level.in.get()));
    levels_.push_back(std::move(level));
    if (levels_.size() > kOpenFolders) {
      auto& far = levels_[levels_.size() - 1 - kOpenFolders];
      far.in.reset();
      far.out.reset();
    }
    return {};
  }

  Result<> open_again() {
    auto& level = levels_.back();
    if (level.path.empty() || level.out) return {};
    level.in = fs::open_below(from_.get(), level.path, kFolder);
    if (level.in) level.out = fs::open_below(to_.get(), level.path, kFolder);
    return level.out ? Result<>() : cannot("open", level.path, errno);
  }

  Result<> leave() {
    TRY_VOID(open_again());
    const auto level = std::move(levels_.back());
    levels_.pop_back();
    if (!level.path.empty() && ::fchmod(level.out.get(), level.mode) != 0)
      return cannot("set the mode of", level.path, errno);
    return {};
  }

  static Result<> link(int from, int to, const std::string& name) {
    std::string target(4097, '\0');
    const auto n = ::readlinkat(from, name.c_str(), target.data(), target.size());
    if (n < 0) return cannot("read", name, errno);
    target.resize(static_cast<std::size_t>(n));
    if (::symlinkat(target.c_str(), to, name.c_str()) != 0) return cannot("make", name, errno);
    return {};
  }

  Result<> file(int from, int to, const std::string& name, const struct stat& info) {
    const UniqueFd in(::openat(from, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!in) return cannot("open", name, errno);
    const UniqueFd out(
        ::openat(to, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!out) return cannot("make", name, errno);
    if (!is_reflinked_ || ::ioctl(out.get(), FICLONE, in.get()) != 0) {
      if (info.st_size > 0) is_reflinked_ = false;
      TRY_VOID(bytes(in.get(), out.get(), name, info.st_size));
    }
    if (::fchmod(out.get(), info.st_mode & 0777) != 0)
      return cannot("set the mode of", name, errno);
    return {};
  }

  static Result<> bytes(int in, int out, const std::string& name, off_t size) {
    off_t at = 0;
    while (at < size) {
      const auto data = ::lseek(in, at, SEEK_DATA);
      if (data < 0) break;  // nothing but a hole is left
      const auto hole = ::lseek(in, data, SEEK_HOLE);
      off_t from = data, to = data;
      while (from < hole) {
        const auto n =
            ::copy_file_range(in, &from, out, &to, static_cast<std::size_t>(hole - from), 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return cannot("copy", name, errno);
        if (n == 0) break;
      }
      at = hole;
    }
    if (::ftruncate(out, size) != 0) return cannot("copy", name, errno);
    return {};
  }

  UniqueFd from_, to_;
  std::vector<Level> levels_;  // the outermost first
  bool is_reflinked_ = true;
};

}  // namespace

Result<CopyKind> copy_tree(const std::string& from, const std::string& to) {
  UniqueFd in(::open(from.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!in) return cannot("open", from, errno);
  UniqueFd out(::open(to.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!out) return cannot("open", to, errno);
  Copier copier(std::move(in), std::move(out));
  TRY_VOID(copier.run());
  return copier.kind();
}

}  // namespace muster::snapshot
