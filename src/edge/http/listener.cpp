#include "edge/http/listener.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>

#include "edge/http/address.hpp"

namespace muster::http {
namespace {

constexpr int kBacklog = 4096;
constexpr mode_t kPrivate = 0600;

/// A socket left by a server that was killed goes away; nothing else does.
Result<> clear_stale(int folder, const std::string& name, const std::string& path) {
  struct stat there{};
  if (::fstatat(folder, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    return fail_errno(fmt::format("cannot look at {}", path), errno);
  }
  if (!S_ISSOCK(there.st_mode))
    return fail(Kind::conflict, fmt::format("{} is in the way: it is not a socket", path),
                "move it away");
  if (::unlinkat(folder, name.c_str(), 0) != 0 && errno != ENOENT)
    return fail_errno(fmt::format("cannot remove the old socket {}", path), errno);
  return {};
}

}  // namespace

Result<Listener> Listener::open(const std::string& path) {
  const auto parts = split_path(path);
  Listener listener;
  TRY(listener.folder_, open_folder(parts.folder));
  TRY_VOID(clear_stale(listener.folder_.get(), parts.name, path));
  listener.socket_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.socket_) return fail_errno("cannot make a socket", errno);
  // On Linux a socket's file gets the mode of its inode: private before it exists, and without the
  // umask, which belongs to the whole process.
  if (::fchmod(listener.socket_.get(), kPrivate) != 0)
    return fail_errno(fmt::format("cannot make the socket {} private", path), errno);
  listener.name_ = parts.name;
  TRY_VOID(listener.bind_at(path));
  if (::listen(listener.socket_.get(), kBacklog) != 0)
    return fail_errno(fmt::format("cannot listen on {}", path), errno);
  return listener;
}

Result<> Listener::bind_at(const std::string& path) {
  TRY(auto address, address_in(folder_.get(), name_));
  int bound = ::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address));
  // Without /proc a short path still works.
  if (bound != 0 && errno == ENOENT && fill(address, path))
    bound = ::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address));
  if (bound != 0) return fail_errno(fmt::format("cannot bind the socket {}", path), errno);
  if (::fstatat(folder_.get(), name_.c_str(), &bound_, AT_SYMLINK_NOFOLLOW) != 0)
    return fail_errno(fmt::format("cannot look at {}", path), errno);
  if ((bound_.st_mode & 07777) != kPrivate &&
      ::fchmodat(folder_.get(), name_.c_str(), kPrivate, 0) != 0)
    return fail_errno(fmt::format("cannot make the socket {} private", path), errno);
  return {};
}

Listener::~Listener() {
  if (bound_.st_ino == 0 || !folder_) return;  // never bound, or moved from
  struct stat there{};
  if (::fstatat(folder_.get(), name_.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (there.st_ino == bound_.st_ino && there.st_dev == bound_.st_dev)
    ::unlinkat(folder_.get(), name_.c_str(), 0);
}

}  // namespace muster::http
