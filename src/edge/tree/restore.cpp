#include "edge/tree/restore.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "edge/fs/below.hpp"
#include "edge/fs/files.hpp"
#include "edge/fs/lock_file.hpp"
#include "edge/fs/remove_tree.hpp"
#include "edge/tree/boot_mark.hpp"
#include "edge/tree/manifest_read.hpp"

namespace muster::snapshot {
namespace {

constexpr std::size_t kOpenFolders = 64;

tl::unexpected<Error> cannot(std::string_view what, const std::string& path, int error) {
  auto failed = fail_errno(fmt::format("cannot {} {}", what, printable(path)), error);
  if (error == ENOSPC || error == EDQUOT)
    failed.value().fix.emplace_back("free some space; what is there is used again");
  return failed;
}

/// Makes entries in walk order. The innermost folders on the way to the current one are kept open;
/// each gets its mode when it is left, since it may forbid writing.
class Builder {
 public:
  Builder(Chunks& chunks, UniqueFd top) : chunks_(chunks), top_(std::move(top)) {}

  Result<> add(const tree::Entry& entry) {
    TRY_VOID(leave_to(entry.path));
    const auto name = entry.path.substr(entry.path.rfind('/') + 1);
    switch (entry.kind) {
      case tree::EntryKind::folder: return add_folder(entry, name);
      case tree::EntryKind::link: return add_link(entry, name);
      case tree::EntryKind::file: return add_file(entry, name);
    }
    return {};
  }

  Result<> finish() {
    while (!open_.empty()) TRY_VOID(leave());
    return {};
  }

 private:
  struct Folder {
    std::string path;
    UniqueFd fd;
    std::uint16_t mode;
  };

  static bool is_in(const std::string& path, const std::string& folder) {
    return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
  }

  Result<> leave_to(const std::string& path) {
    while (!open_.empty() && !is_in(path, open_.back().path)) TRY_VOID(leave());
    return {};
  }

  Result<> leave() {
    TRY_VOID(open_again());
    const auto folder = std::move(open_.back());
    open_.pop_back();
    if (::fchmod(folder.fd.get(), folder.mode) != 0)
      return cannot("set the mode of", folder.path, errno);
    return {};
  }

  /// Trees may be deeper than a process may have descriptors.
  Result<> open_again() {
    auto& folder = open_.back();
    if (folder.fd) return {};
    folder.fd = fs::open_below(top_.get(), folder.path, O_RDONLY | O_DIRECTORY);
    return folder.fd ? Result<>() : cannot("open", folder.path, errno);
  }

  /// Of the folder that takes the next entry.
  Result<int> current() {
    if (open_.empty()) return top_.get();
    TRY_VOID(open_again());
    return open_.back().fd.get();
  }

  Result<> add_folder(const tree::Entry& entry, const std::string& name) {
    TRY(const int parent, current());
    if (::mkdirat(parent, name.c_str(), 0700) != 0) return cannot("make", entry.path, errno);
    UniqueFd fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd) return cannot("open", entry.path, errno);
    open_.push_back({entry.path, std::move(fd), entry.mode});
    if (open_.size() > kOpenFolders) open_[open_.size() - 1 - kOpenFolders].fd.reset();
    return {};
  }

  Result<> add_link(const tree::Entry& entry, const std::string& name) {
    TRY(const int parent, current());
    if (::symlinkat(entry.target.c_str(), parent, name.c_str()) != 0)
      return cannot("make the link", entry.path, errno);
    return {};
  }

  Result<> add_file(const tree::Entry& entry, const std::string& name) {
    TRY(const int parent, current());
    const UniqueFd fd(
        ::openat(parent, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd) return cannot("make", entry.path, errno);
    std::uint64_t at = 0;
    for (const auto& piece : entry.pieces) {
      if (!piece.is_hole) {
        TRY(const auto bytes, within(chunks_.get(piece.hash), printable(entry.path)));
        if (bytes.size() != piece.size)
          return fail(Kind::corrupt,
                      fmt::format("{} does not fit its chunks", printable(entry.path)),
                      "find out what is lost: muster snapshot verify");
        TRY_VOID(write_at(fd.get(), entry, bytes, at));
      }
      at += piece.size;
    }
    const bool ends_with_hole = !entry.pieces.empty() && entry.pieces.back().is_hole;
    if (ends_with_hole && ::ftruncate(fd.get(), static_cast<off_t>(at)) != 0)
      return cannot("write", entry.path, errno);
    if (::fchmod(fd.get(), entry.mode) != 0) return cannot("set the mode of", entry.path, errno);
    return {};
  }

  static Result<> write_at(int fd, const tree::Entry& entry, std::string_view bytes,
                           std::uint64_t at) {
    while (!bytes.empty()) {
      const auto n = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return cannot("write", entry.path, errno);
      bytes.remove_prefix(static_cast<std::size_t>(n));
      at += static_cast<std::uint64_t>(n);
    }
    return {};
  }

  Chunks& chunks_;
  UniqueFd top_;
  std::vector<Folder> open_;  // the outermost first
};

/// What a killed restore left; whoever has the lock may remove it.
void remove_leftovers(const std::string& trees, const std::string& hex) {
  for (const auto& name : fs::entries(trees))
    if (name.starts_with("tmp." + hex)) fs::remove_tree(trees + "/" + name);
}

}  // namespace

Result<> restore(Chunks& chunks, const tree::Hash& id, const std::string& folder) {
  UniqueFd top(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!top) return cannot("open", folder, errno);
  Builder builder(chunks, std::move(top));
  TRY_VOID(read_manifest(chunks, id, [&](const tree::Entry& entry) { return builder.add(entry); }));
  return builder.finish();
}

Result<std::string> restore_once(BlobStore& blobs, const tree::Hash& id, const std::string& trees) {
  const auto hex = tree::to_hex(id);
  const auto folder = trees + "/" + hex;
  TRY_VOID(fs::make_dirs(trees));
  TRY(const auto lock, fs::lock_file(folder + ".lock"));
  TRY(const bool is_there, is_whole(folder));
  if (is_there) return folder;
  remove_leftovers(trees, hex);
  if (fs::exists(folder)) {
    // Moved away first: who looks meanwhile finds it whole or not at all.
    const auto old = fmt::format("{}/tmp.{}.old", trees, hex);
    if (::rename(folder.c_str(), old.c_str()) != 0) return cannot("move", folder, errno);
    fs::remove_tree(old);
  }
  const auto temporary = fmt::format("{}/tmp.{}.new", trees, hex);
  TRY_VOID(fs::make_dirs(temporary));
  TRY(const auto stays, blobs.lock(BlobStore::LockKind::shared));  // nothing is collected meanwhile
  Chunks chunks(blobs);
  const auto restored = restore(chunks, id, temporary);
  if (!restored) {
    fs::remove_tree(temporary);
    return tl::unexpected<Error>(restored.error());
  }
  if (::rename(temporary.c_str(), folder.c_str()) != 0) return cannot("move", temporary, errno);
  TRY_VOID(mark_whole(folder));
  return folder;
}

}  // namespace muster::snapshot
