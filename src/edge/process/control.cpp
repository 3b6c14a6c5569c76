#include "edge/process/control.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "edge/process/clocks.hpp"
#include "edge/process/files.hpp"

namespace muster::process {
namespace {

bool is_our_user(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

bool bind_to(int socket, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

/// Where there is no /proc a short name is had by going there.
bool bind_there(int socket, int dir_fd) {
  const UniqueFd here(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!here || ::fchdir(dir_fd) != 0) return false;
  const bool is_bound = bind_to(socket, "ctl");
  return ::fchdir(here.get()) == 0 && is_bound;
}

bool is_known(const std::string& what) {
  return what == "stop" || what == "signal" || what == "ack";
}

}  // namespace

void Control::add_to(std::vector<pollfd>& fds) const {
  if (channel_.is_open()) {
    const short events = channel_.wants_to_write() ? POLLIN | POLLOUT : POLLIN;
    fds.push_back({channel_.fd(), events, 0});
  }
  if (listener_) fds.push_back({listener_.get(), POLLIN, 0});
}

void Control::listen() {
  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listener) return;
  ::unlinkat(dir_fd_, "ctl", 0);
  const auto before = ::umask(0177);
  const bool is_bound = bind_to(listener.get(), short_name(dir_fd_, "ctl")) ||
                        (errno == ENOENT && bind_there(listener.get(), dir_fd_));
  ::umask(before);
  // A full disk leaves no socket: tried again at the next turn.
  if (is_bound && ::listen(listener.get(), 4) == 0) listener_ = std::move(listener);
}

bool Control::accept_newest() {
  bool is_new = false;
  for (;;) {
    UniqueFd peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!peer) return is_new;
    if (!is_our_user(peer.get())) continue;
    channel_ = LineChannel(std::move(peer));
    is_new = true;
  }
}

Control::Heard Control::hear() {
  Heard heard;
  if (listener_) heard.is_new_server = accept_newest();
  if (channel_.is_open()) {
    channel_.flush();
    for (const auto& line : channel_.receive()) {
      auto asked = parse_asked(line);
      if (asked && is_known(asked->what))
        heard.asked.push_back(std::move(*asked));
      else
        say({.say = "unsupported", .asked = asked ? asked->what : line});
    }
  }
  if (!channel_.is_open() && !listener_) listen();
  return heard;
}

void Control::say(const Said& said) { channel_.send(to_line(said)); }

void Control::flush(Duration limit) {
  const auto until = monotonic_now() + limit;
  while (channel_.wants_to_write() && monotonic_now() < until) {
    pollfd fd{channel_.fd(), POLLOUT, 0};
    ::poll(&fd, 1, 10);
    channel_.flush();
  }
}

void Control::close() {
  channel_.close();
  if (listener_) ::unlinkat(dir_fd_, "ctl", 0);
  listener_.reset();
}

}  // namespace muster::process
