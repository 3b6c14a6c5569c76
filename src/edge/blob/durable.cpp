#include "edge/blob/durable.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"

namespace muster::blob {
namespace {

constexpr std::size_t kNameBytes = 16;  // of randomness: machines that share a store never meet

/// A file that goes away again unless it was given its name.
class Temporary {
 public:
  Temporary(const std::string& store, const std::string& folder)
      : store_(store), path_(fmt::format("{}/{}", folder, to_hex(random_bytes(kNameBytes)))) {}
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (is_there_) ::unlink(path_.c_str());
  }

  Result<> write(std::string_view bytes, const Placing& how) {
    const UniqueFd fd(
        ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd) return fail_on_disk(store_, fmt::format("cannot create {}", printable(path_)), errno);
    is_there_ = true;
    if (how.modes.file != 0600 && ::fchmod(fd.get(), how.modes.file) != 0)
      return fail_on_disk(store_, fmt::format("cannot open {} to others", printable(path_)), errno);
    while (!bytes.empty()) {
      const auto n = ::write(fd.get(), bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0)
        return fail_on_disk(store_, fmt::format("cannot write {}", printable(path_)), errno);
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    if (::fsync(fd.get()) != 0)
      return fail_on_disk(store_, fmt::format("cannot sync {}", printable(path_)), errno);
    // Only advice: a file system that does not take it keeps what it likes.
    if (how.memory == InMemory::goes) ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
    return {};
  }

  /// Never over something that is there. Not every file system has the first way, or the second.
  Result<> rename_to(const std::string& path) {
    if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) {
      is_there_ = false;
      return {};
    }
    if (errno == EEXIST) return {};
    if (errno != EINVAL && errno != ENOSYS) return failed(path);
    if (::link(path_.c_str(), path.c_str()) == 0 || errno == EEXIST) return {};
    return failed(path);
  }

 private:
  tl::unexpected<Error> failed(const std::string& path) const {
    return fail_on_disk(
        store_, fmt::format("cannot rename {} to {}", printable(path_), printable(path)), errno);
  }

  const std::string& store_;
  std::string path_;
  bool is_there_ = false;
};

}  // namespace

tl::unexpected<Error> fail_on_disk(const std::string& store, std::string what, int error_number) {
  auto failed = fail_errno(std::move(what), error_number);
  if (error_number == ENOTDIR) failed.value().kind = Kind::conflict;  // a part of it is an object
  if (error_number != ENOSPC && error_number != EDQUOT) return failed;
  auto& error = failed.value();
  error.where = std::exchange(error.what, fmt::format("the disk of {} is full", printable(store)));
  error.fix = {"free some space there, or use a store on another disk; nothing was lost"};
  return failed;
}

Result<> place_new(const std::string& store, const std::string& temporaries,
                   const std::string& path, std::string_view bytes, const Placing& how) {
  Temporary file(store, temporaries);
  TRY_VOID(file.write(bytes, how));
  return file.rename_to(path);
}

Result<> make_folders(const std::string& store, const std::string& path, const Modes& modes) {
  const auto make = [&] {
    if (::mkdir(path.c_str(), 0700) != 0) return errno == EEXIST;
    return modes.folder == 0700 || ::chmod(path.c_str(), modes.folder) == 0;
  };
  if (make()) return {};
  if (errno == ENOENT && folder_of(path) != path) {
    TRY_VOID(make_folders(store, folder_of(path), modes));
    if (make()) return {};
  }
  return fail_on_disk(store, fmt::format("cannot make the folder {}", printable(path)), errno);
}

Result<> sync_folder(const std::string& store, const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd && ::fsync(fd.get()) == 0) return {};
  return fail_on_disk(store, fmt::format("cannot sync the folder {}", printable(path)), errno);
}

Result<std::vector<std::string>> names_in(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(path.c_str()), ::closedir);
  if (!dir && (errno == ENOENT || errno == ENOTDIR)) return names;
  while (dir) {
    errno = 0;
    const dirent* entry = ::readdir(dir.get());
    if (entry == nullptr && errno == 0) return names;
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return fail_errno(fmt::format("cannot list the folder {}", printable(path)), errno);
}

std::string folder_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

}  // namespace muster::blob
