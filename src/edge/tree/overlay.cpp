#include "edge/tree/overlay.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.hpp"
#include "base/unique_fd.hpp"

namespace muster::snapshot {
namespace {

Result<> write_line(const char* path, const std::string& line) {
  const UniqueFd fd(::open(path, O_WRONLY | O_CLOEXEC));
  if (!fd || ::write(fd.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    return fail_errno(fmt::format("cannot write {}", path), errno);
  return {};
}

/// Every id stays what it is: files made inside belong to the person outside as well.
Result<> keep_ids(uid_t uid, gid_t gid) {
  TRY_VOID(write_line("/proc/self/setgroups", "deny"));
  TRY_VOID(write_line("/proc/self/uid_map", fmt::format("{0} {0} 1", uid)));
  return write_line("/proc/self/gid_map", fmt::format("{0} {0} 1", gid));
}

/// Gives whether a user namespace was needed.
Result<bool> enter_namespace() {
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  bool has_user_namespace = false;
  if (::unshare(CLONE_NEWNS) != 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
      return fail_errno("cannot make a mount namespace", errno);
    has_user_namespace = true;
    TRY_VOID(keep_ids(uid, gid));
  }
  // What is mounted here stays here; what is mounted outside later still arrives.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0)
    return fail_errno("cannot set mounts apart", errno);
  return has_user_namespace;
}

}  // namespace

Result<> mount_overlay(const Overlay& overlay) {
  TRY(const bool is_user, enter_namespace());
  // By descriptor: a path may hold ':' and ',', which mean something to overlayfs.
  constexpr int kFlags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  const UniqueFd lower(::open(overlay.lower.c_str(), kFlags));
  const UniqueFd upper(::open(overlay.upper.c_str(), kFlags));
  const UniqueFd work(::open(overlay.work.c_str(), kFlags));
  if (!lower || !upper || !work) return fail_errno("cannot open a folder of the overlay", errno);
  const auto options = fmt::format(
      "lowerdir=/proc/self/fd/{},upperdir=/proc/self/fd/{},workdir=/proc/self/fd/{}{}", lower.get(),
      upper.get(), work.get(), is_user ? ",userxattr" : ",redirect_dir=off,metacopy=off");
  if (::mount("muster", overlay.at.c_str(), "overlay", MS_NOSUID | MS_NODEV, options.c_str()) != 0)
    return fail_errno(fmt::format("cannot mount an overlay at {}", printable(overlay.at)), errno);
  return {};
}

void make_read_only(const std::string& folder) {
  if (folder.empty() || ::mount(folder.c_str(), folder.c_str(), nullptr, MS_BIND, nullptr) != 0)
    return;
  constexpr unsigned long kFlags = MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV;
  if (::mount(nullptr, folder.c_str(), nullptr, kFlags, nullptr) != 0)
    ::umount2(folder.c_str(), MNT_DETACH);
}

}  // namespace muster::snapshot
