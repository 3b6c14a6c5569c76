#include "edge/blob/file_store.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/text.hpp"
#include "edge/blob/blob_name.hpp"
#include "edge/blob/durable.hpp"
#include "edge/fs/files.hpp"

namespace muster {
namespace {

constexpr std::string_view kTemporaries = "v1/tmp";
constexpr std::string_view kLock = "lock";
/// So much stays in memory: a job that starts at once finds its code there. More than that is data;
/// it would push out what others have there, and memory for all of it costs more than the writing.
constexpr std::uint64_t kStaysInMemory = 64U << 20;
constexpr std::int64_t kDayUs = 24LL * 3600 * 1'000'000;

/// Files that are the store's own and no objects.
bool is_own(std::string_view name) {
  return name == kLock || name == kTemporaries ||
         (name.starts_with(kTemporaries) && name.substr(kTemporaries.size()).starts_with('/'));
}

bool is_absent(int error_number) { return error_number == ENOENT || error_number == ENOTDIR; }

tl::unexpected<Error> absent(const std::string& name) {
  return fail(Kind::not_found, fmt::format("there is no object \"{}\" in the store", name));
}

BlobInfo info_of(std::string name, const struct stat& about) {
  const auto written =
      std::int64_t{about.st_mtim.tv_sec} * 1'000'000 + about.st_mtim.tv_nsec / 1000;
  return {.name = std::move(name),
          .size = static_cast<std::uint64_t>(about.st_size),
          .age_us = std::max<std::int64_t>(0, fs::walltime_us() - written)};
}

Result<std::string> read_range(int fd, std::uint64_t offset, std::uint64_t size,
                               const std::string& path) {
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto n =
        ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(fmt::format("cannot read {}", printable(path)), errno);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

}  // namespace

FileStore::FileStore(std::string folder, Access access)
    : folder_(std::move(folder)), access_(access) {}

Result<blob::Modes> FileStore::modes() const {
  if (access_ == Access::owner) return blob::Modes{};
  struct stat about{};
  if (::stat(folder_.c_str(), &about) != 0)
    return fail_errno(fmt::format("cannot look at the folder {}", printable(folder_)), errno);
  return blob::Modes{.file = (about.st_mode & 0444) | 0600U, .folder = about.st_mode & 07777};
}

Result<std::string> FileStore::path_of(const std::string& name) const {
  TRY_VOID(check_blob_name(name));
  if (is_own(name))
    return fail(Kind::usage, fmt::format("\"{}\" is a name the store keeps for itself", name));
  return folder_ + "/" + name;
}

Result<> FileStore::make_durable_folder(const std::string& path) {
  {
    const std::lock_guard lock(mutex_);
    if (durable_.contains(path) && fs::exists(path)) return {};
  }
  TRY(const auto modes, this->modes());
  TRY_VOID(blob::make_folders(folder_, path, modes));
  // Somebody else may have made it just now: that it is there does not say it is durable.
  for (auto at = path; at.size() >= folder_.size() && at != "/"; at = blob::folder_of(at))
    TRY_VOID(blob::sync_folder(folder_, blob::folder_of(at)));
  const std::lock_guard lock(mutex_);
  durable_.insert(path);
  return {};
}

Result<> FileStore::put(const std::string& name, std::string_view bytes) {
  TRY(const auto path, path_of(name));
  const auto folder = blob::folder_of(path);
  TRY_VOID(make_durable_folder(folder));
  struct stat about{};
  const bool is_there = ::lstat(path.c_str(), &about) == 0;
  if (is_there && !S_ISREG(about.st_mode))
    return fail(Kind::conflict, fmt::format("{} is there and no object", printable(path)));
  if (!is_there) {
    const auto temporaries = fmt::format("{}/{}", folder_, kTemporaries);
    TRY(const auto modes, this->modes());
    TRY_VOID(blob::make_folders(folder_, temporaries, modes));
    const auto memory = written_.fetch_add(bytes.size()) < kStaysInMemory ? blob::InMemory::stays
                                                                          : blob::InMemory::goes;
    TRY_VOID(blob::place_new(folder_, temporaries, path, bytes, {modes, memory}));
  }
  // Also when it was there: who put it may not have come so far yet.
  return blob::sync_folder(folder_, folder);
}

Result<std::string> FileStore::get(const std::string& name, std::uint64_t offset,
                                   std::uint64_t size) {
  TRY(const auto path, path_of(name));
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd && is_absent(errno)) return absent(name);
  struct stat about{};
  if (!fd || ::fstat(fd.get(), &about) != 0)
    return fail_errno(fmt::format("cannot open {}", printable(path)), errno);
  if (!S_ISREG(about.st_mode)) return absent(name);
  const auto all = static_cast<std::uint64_t>(about.st_size);
  if (offset >= all) return std::string();
  return read_range(fd.get(), offset, std::min(size, all - offset), path);
}

Result<BlobInfo> FileStore::look(const std::string& name) {
  TRY(const auto path, path_of(name));
  struct stat about{};
  if (::lstat(path.c_str(), &about) == 0)
    return S_ISREG(about.st_mode) ? Result<BlobInfo>(info_of(name, about)) : absent(name);
  if (is_absent(errno)) return absent(name);
  return fail_errno(fmt::format("cannot look at {}", printable(path)), errno);
}

Result<> FileStore::list(const std::string& prefix,
                         const std::function<bool(const BlobInfo&)>& each) {
  TRY_VOID(check_blob_prefix(prefix));
  // Folders still to go through, as beginnings of names: "" or "v1/packs/".
  std::vector<std::string> folders{prefix.substr(0, prefix.rfind('/') + 1)};
  while (!folders.empty()) {
    const auto folder = std::move(folders.back());
    folders.pop_back();
    TRY(const auto names, blob::names_in(folder_ + "/" + folder));
    for (const auto& part : names) {
      auto name = folder + part;
      if (!name.starts_with(prefix) || is_own(name) || !check_blob_name(name)) continue;
      struct stat about{};
      if (::lstat((folder_ + "/" + name).c_str(), &about) != 0) continue;  // removed meanwhile
      if (S_ISDIR(about.st_mode)) folders.push_back(name + "/");
      if (S_ISREG(about.st_mode) && !each(info_of(std::move(name), about))) return {};
    }
  }
  return {};
}

Result<> FileStore::remove(const std::string& name) {
  TRY(const auto path, path_of(name));
  if (::unlink(path.c_str()) != 0) {
    if (is_absent(errno) || errno == EISDIR) return {};
    return fail_errno(fmt::format("cannot remove {}", printable(path)), errno);
  }
  // Removals must not change their order in a power loss: roots go before what they name.
  return blob::sync_folder(folder_, blob::folder_of(path));
}

Result<std::shared_ptr<void>> FileStore::lock(LockKind kind) {
  TRY_VOID(make_durable_folder(folder_));
  const auto path = fmt::format("{}/{}", folder_, kLock);
  TRY(const auto modes, this->modes());
  constexpr int kOwn = O_CLOEXEC | O_NOFOLLOW;
  auto fd = std::make_shared<UniqueFd>(::open(path.c_str(), O_RDWR | O_CREAT | kOwn, 0600));
  if (*fd && modes.file != 0600) (void)::fchmod(fd->get(), modes.file);  // whoever made it has
  // Of a store that others made the file is theirs: to read it is enough for a shared lock.
  if (!*fd && errno == EACCES) fd->reset(::open(path.c_str(), O_RDONLY | kOwn));
  if (!*fd) return blob::fail_on_disk(folder_, fmt::format("cannot open {}", path), errno);
  const bool is_shared = kind == LockKind::shared;
  if (::flock(fd->get(), is_shared ? LOCK_SH : LOCK_EX | LOCK_NB) == 0) {
    if (!is_shared) TRY_VOID(sweep_temporaries());
    return std::shared_ptr<void>(std::move(fd));
  }
  if (errno == EWOULDBLOCK)
    return fail(Kind::unavailable,
                fmt::format("somebody is sending to the store {}", printable(folder_)),
                "repeat it when they are done");
  if (errno == EINTR)
    return fail(Kind::cancelled,
                fmt::format("interrupted while waiting for the store {}", printable(folder_)));
  return fail_errno(fmt::format("cannot lock {}", printable(path)), errno);
}

Result<int> FileStore::sweep_temporaries() {
  const auto folder = fmt::format("{}/{}", folder_, kTemporaries);
  TRY(const auto names, blob::names_in(folder));
  int removed = 0;
  for (const auto& name : names) {
    const auto path = folder + "/" + name;
    struct stat about{};
    if (::lstat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) continue;
    if (info_of(name, about).age_us <= kDayUs) continue;
    TRY_VOID(fs::remove_file(path));
    ++removed;
  }
  return removed;
}

}  // namespace muster
