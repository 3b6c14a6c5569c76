#include "edge/tree/copy.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>

#include "base/text.hpp"
#include "base/unique_fd.hpp"

namespace muster::snapshot {
namespace {

tl::unexpected<Error> cannot(std::string_view what, std::string_view name, int error) {
  return fail_errno(fmt::format("cannot {} {}", what, printable(name)), error);
}

class Copier {
 public:
  Result<> folder(int from, int to) {
    struct Close {
      void operator()(DIR* dir) const { ::closedir(dir); }
    };
    const int again = ::openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::unique_ptr<DIR, Close> listing(again < 0 ? nullptr : ::fdopendir(again));
    if (!listing) return cannot("list", "a folder of the snapshot", errno);
    while (const auto* entry = ::readdir(listing.get())) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      TRY_VOID(within(one(from, to, name), printable(name)));
    }
    return {};
  }
  CopyKind kind() const { return is_reflinked_ ? CopyKind::reflink : CopyKind::bytes; }

 private:
  Result<> one(int from, int to, const std::string& name) {
    struct stat info{};
    if (::fstatat(from, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
      return cannot("look at", name, errno);
    if (S_ISLNK(info.st_mode)) return link(from, to, name);
    if (S_ISDIR(info.st_mode)) return subfolder(from, to, name, info.st_mode & 0777);
    return file(from, to, name, info);
  }

  static Result<> link(int from, int to, const std::string& name) {
    std::string target(4097, '\0');
    const auto n = ::readlinkat(from, name.c_str(), target.data(), target.size());
    if (n < 0) return cannot("read", name, errno);
    target.resize(static_cast<std::size_t>(n));
    if (::symlinkat(target.c_str(), to, name.c_str()) != 0) return cannot("make", name, errno);
    return {};
  }

  Result<> subfolder(int from, int to, const std::string& name, mode_t mode) {
    if (::mkdirat(to, name.c_str(), 0700) != 0) return cannot("make", name, errno);
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    const UniqueFd in(::openat(from, name.c_str(), kFlags));
    const UniqueFd out(::openat(to, name.c_str(), kFlags));
    if (!in || !out) return cannot("open", name, errno);
    TRY_VOID(folder(in.get(), out.get()));
    if (::fchmod(out.get(), mode) != 0) return cannot("set the mode of", name, errno);
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

  bool is_reflinked_ = true;
};

}  // namespace

Result<CopyKind> copy_tree(const std::string& from, const std::string& to) {
  const UniqueFd in(::open(from.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!in) return cannot("open", from, errno);
  const UniqueFd out(::open(to.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!out) return cannot("open", to, errno);
  Copier copier;
  TRY_VOID(copier.folder(in.get(), out.get()));
  return copier.kind();
}

}  // namespace muster::snapshot
