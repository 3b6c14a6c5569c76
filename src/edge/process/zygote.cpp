#include "edge/process/zygote.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>

#include "edge/process/lines.hpp"
#include "edge/process/shim.hpp"

namespace muster {
namespace {

constexpr std::uint32_t kMaxFrame = 64 << 20;
/// A buffer grown by one large environment is not carried along for ever: it makes forks dearer.
constexpr std::size_t kBufferKept = 256 << 10;

struct Frame {
  std::string text;
  UniqueFd link;
  UniqueFd slot_lock;
};

/// The length and the descriptors, which travel with its first byte. False at the end.
bool receive_head(int fd, std::uint32_t& length, Frame& frame) {
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))];
  iovec piece{&length, sizeof length};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got = 0;
  do got = ::recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
  while (got < 0 && errno == EINTR);
  if (got != sizeof length) return false;
  const auto* head = CMSG_FIRSTHDR(&message);
  if (head == nullptr || head->cmsg_type != SCM_RIGHTS) return false;
  int fds[2] = {-1, -1};
  std::memcpy(fds, CMSG_DATA(head), std::min(sizeof fds, head->cmsg_len - CMSG_LEN(0)));
  frame.link.reset(fds[0]);
  frame.slot_lock.reset(fds[1]);
  return length <= kMaxFrame;
}

bool receive_body(int fd, std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const auto got = ::recv(fd, text.data() + done, text.size() - done, MSG_WAITALL);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<std::size_t>(got);
  }
  return true;
}

[[noreturn]] void be_shim(Frame& frame) {
  auto order = decode_node_order(frame.text);
  if (!order) {
    process::LineChannel channel(std::move(frame.link));
    channel.send(process::to_line(process::Said{.say = "refused", .why = to_line(order.error())}));
    ::_exit(1);
  }
  ::_exit(run_shim(std::move(*order), std::move(frame.link), std::move(frame.slot_lock)));
}

void refuse(Frame& frame, int error) {
  process::LineChannel channel(std::move(frame.link));
  const auto why = fmt::format("cannot start a supervisor ({})", std::strerror(error));
  channel.send(process::to_line(process::Said{.say = "refused", .why = why}));
}

}  // namespace

int run_zygote(int socket_fd) {
  UniqueFd socket(socket_fd);
  ::fcntl(socket.get(), F_SETFD, FD_CLOEXEC);
  ::prctl(PR_SET_NAME, "muster-zygote");
  ::setsid();
  if (::chdir("/") != 0) return 1;
  for (const int signal : {SIGHUP, SIGINT, SIGPIPE}) ::signal(signal, SIG_IGN);
  ::signal(SIGCHLD, SIG_IGN);  // shims are nobody's to wait for: the kernel reaps them
  std::string buffer;
  for (;;) {
    Frame frame;
    std::uint32_t length = 0;
    if (!receive_head(socket.get(), length, frame)) return 0;
    frame.text = std::move(buffer);
    frame.text.resize(length);
    if (!receive_body(socket.get(), frame.text)) return 0;
    const pid_t pid = ::fork();
    if (pid == 0) {
      socket.reset();  // else the server would not see the zygote's end while a shim lives
      be_shim(frame);
    }
    if (pid < 0) refuse(frame, errno);
    buffer = std::move(frame.text);
    if (buffer.capacity() > kBufferKept) std::string().swap(buffer);
  }
}

}  // namespace muster
