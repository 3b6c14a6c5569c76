#include "edge/fs/remove_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <vector>

#include "base/unique_fd.hpp"

namespace muster::fs {
namespace {

std::vector<std::string> names_in(int dir) {
  struct Close {
    void operator()(DIR* listing) const { ::closedir(listing); }
  };
  std::vector<std::string> names;
  const int again = ::openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, Close> listing(again < 0 ? nullptr : ::fdopendir(again));
  while (const auto* entry = listing ? ::readdir(listing.get()) : nullptr) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

void remove_at(int parent, const std::string& name) {
  if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return;
  // A folder that may not be entered is given its mode back; a link is no folder.
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  UniqueFd dir(::openat(parent, name.c_str(), kFlags));
  if (!dir && errno == EACCES) {
    (void)!::fchmodat(parent, name.c_str(), 0700, 0);
    dir.reset(::openat(parent, name.c_str(), kFlags));
  }
  if (dir) {
    ::fchmod(dir.get(), 0700);
    for (const auto& inner : names_in(dir.get())) remove_at(dir.get(), inner);
  }
  ::unlinkat(parent, name.c_str(), AT_REMOVEDIR);
}

}  // namespace

void remove_tree(const std::string& path) { remove_at(AT_FDCWD, path); }

}  // namespace muster::fs
