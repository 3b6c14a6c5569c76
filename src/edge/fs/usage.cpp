#include "edge/fs/usage.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>

#include "base/unique_fd.hpp"

namespace muster::fs {
namespace {

constexpr std::uint64_t kBlock = 512;  // what st_blocks counts, whatever the disk's own are

struct Close {
  void operator()(DIR* listing) const { ::closedir(listing); }
};

class Counter {
 public:
  Counter(Counted& counted, dev_t device) : counted_(counted), device_(device) {}

  void count(int parent, const char* name, const struct stat& about) {
    if (about.st_dev != device_) return;
    const bool is_folder = S_ISDIR(about.st_mode);
    if (about.st_nlink > 1 && !is_folder && !counted_.emplace(about.st_dev, about.st_ino).second)
      return;
    usage.bytes += static_cast<std::uint64_t>(about.st_blocks) * kBlock;
    if (!is_folder) ++usage.files;
    if (is_folder) enter(parent, name);
  }

  Usage usage;

 private:
  void enter(int parent, const char* name) {
    const int fd = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const std::unique_ptr<DIR, Close> listing(fd < 0 ? nullptr : ::fdopendir(fd));
    while (const auto* entry = listing ? ::readdir(listing.get()) : nullptr) {
      const std::string_view inner = entry->d_name;
      struct stat about{};
      if (inner == "." || inner == "..") continue;
      if (::fstatat(fd, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0)
        count(fd, entry->d_name, about);
    }
  }

  Counted& counted_;
  dev_t device_;
};

}  // namespace

Usage usage_of(const std::string& path, Counted& counted) {
  struct stat about{};
  if (::lstat(path.c_str(), &about) != 0) return {};
  Counter counter(counted, about.st_dev);
  counter.count(AT_FDCWD, path.c_str(), about);
  return counter.usage;
}

}  // namespace muster::fs
