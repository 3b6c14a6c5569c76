#include "edge/process/zygote_client.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>

namespace muster::process {
namespace {

/// A zygote that takes nothing for this long is given up: the next one does the work.
constexpr timeval kSendPatience{5, 0};
constexpr int kZygoteFd = 3;

struct Actions {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  Actions() {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
  }
  ~Actions() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
};

/// posix_spawn and not fork: the server has threads.
Result<pid_t> spawn_zygote(const std::string& binary, int socket) {
  Actions actions;
  for (int fd = 0; fd < 3; ++fd)
    ::posix_spawn_file_actions_addopen(&actions.files, fd, "/dev/null", O_RDWR, 0);
  ::posix_spawn_file_actions_adddup2(&actions.files, socket, kZygoteFd);
  ::posix_spawn_file_actions_addclosefrom_np(&actions.files, kZygoteFd + 1);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  ::posix_spawnattr_setsigmask(&actions.attributes, &none);
  ::posix_spawnattr_setsigdefault(&actions.attributes, &all);
  ::posix_spawnattr_setflags(&actions.attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  char name[] = "muster";
  char verb[] = "shim";
  char flag[] = "--zygote";
  char* argv[] = {name, verb, flag, nullptr};
  char* env[] = {nullptr};
  pid_t pid = 0;
  const int error =
      ::posix_spawn(&pid, binary.c_str(), &actions.files, &actions.attributes, argv, env);
  if (error != 0) return fail_errno(fmt::format("cannot run {}", binary), error);
  return pid;
}

}  // namespace

Result<> ZygoteClient::start() {
  if (socket_) return {};
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail_errno("cannot make a socket pair", errno);
  UniqueFd ours(ends[0]);
  // Above the numbers the child is given: its own dup2 must not run into it.
  const UniqueFd low(ends[1]);
  const UniqueFd theirs(::fcntl(low.get(), F_DUPFD_CLOEXEC, 10));
  if (!theirs) return fail_errno("cannot duplicate a socket", errno);
  ::setsockopt(ours.get(), SOL_SOCKET, SO_SNDTIMEO, &kSendPatience, sizeof kSendPatience);
  TRY(pid_, spawn_zygote(binary_, theirs.get()));
  socket_ = std::move(ours);
  return {};
}

void ZygoteClient::close() {
  socket_.reset();
  if (pid_ <= 0) return;
  // It ends by itself once its socket is closed; it is waited for a moment, not longer.
  for (int i = 0; i < 200; ++i) {
    if (::waitpid(pid_, nullptr, WNOHANG) != 0) break;
    const timespec pause{0, 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
  pid_ = 0;
}

Result<> ZygoteClient::send(const NodeOrder& order, UniqueFd link, int slot_lock) {
  TRY_VOID(start());
  auto sent = transmit(encode(order), link.get(), slot_lock);
  if (!sent) close();  // half a frame makes no shim, and nothing after it could be understood
  return sent;
}

Result<> ZygoteClient::transmit(std::string_view text, int link, int slot_lock) {
  auto length = static_cast<std::uint32_t>(text.size());
  const int fds[2] = {link, slot_lock};
  const std::size_t fd_bytes = sizeof(int) * (slot_lock >= 0 ? 2 : 1);
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fds)] = {};
  iovec piece{&length, sizeof length};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(fd_bytes);
  auto* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(fd_bytes);
  std::memcpy(CMSG_DATA(head), fds, fd_bytes);
  if (::sendmsg(socket_.get(), &message, MSG_NOSIGNAL) != sizeof length)
    return fail_errno("cannot reach the zygote", errno);
  while (!text.empty()) {
    const auto put = ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return fail_errno("cannot reach the zygote", errno);
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

}  // namespace muster::process
