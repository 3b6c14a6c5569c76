#include "edge/http/channel.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace muster::http {
namespace {

class SocketChannel final : public Channel {
 public:
  explicit SocketChannel(UniqueFd socket) : socket_(std::move(socket)) {}

  Result<Moved> read_some(std::span<char> into) override {
    for (;;) {
      const auto count = ::recv(socket_.get(), into.data(), into.size(), MSG_DONTWAIT);
      if (count > 0) return Moved{.bytes = static_cast<std::size_t>(count)};
      // A reset is an end as well: what came before it has been read.
      if (count == 0 || errno == ECONNRESET) return Moved{.next = Next::closed};
      if (errno == EAGAIN) return Moved{.next = Next::input};
      if (errno != EINTR) return fail_errno("cannot read the answer", errno);
    }
  }

  Result<Moved> write_some(std::string_view bytes) override {
    for (;;) {
      const auto count =
          ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count >= 0) return Moved{.bytes = static_cast<std::size_t>(count)};
      if (errno == EAGAIN) return Moved{.next = Next::output};
      if (errno != EINTR)
        return fail_errno("the server closed the connection before it had the request", errno);
    }
  }

  Result<bool> flush_some() override { return true; }

  bool is_quiet() const override {
    pollfd probe{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&probe, 1, 0) == 0;
  }

  int fd() const override { return socket_.get(); }

 private:
  UniqueFd socket_;
};

Result<> wait(const Channel& channel, short events, const Waiting& waiting) {
  TRY(const bool is_ready, wait_for(channel.fd(), events, waiting.stop, after(waiting.silence)));
  if (is_ready) return {};
  return fail(Kind::unavailable,
              fmt::format("the server was silent for {}", to_text(waiting.silence)));
}

}  // namespace

std::unique_ptr<Channel> socket_channel(UniqueFd socket) {
  return std::make_unique<SocketChannel>(std::move(socket));
}

Result<std::size_t> read(Channel& channel, std::span<char> into, const Waiting& waiting) {
  for (;;) {
    TRY(const auto moved, channel.read_some(into));
    if (moved.bytes > 0 || moved.next == Channel::Next::closed) return moved.bytes;
    TRY_VOID(wait(channel, moved.next == Channel::Next::input ? POLLIN : POLLOUT, waiting));
  }
}

Result<> write(Channel& channel, std::string_view bytes, const Waiting& waiting) {
  while (!bytes.empty()) {
    TRY(const auto moved, channel.write_some(bytes));
    bytes.remove_prefix(moved.bytes);
    if (moved.bytes == 0)
      TRY_VOID(wait(channel, moved.next == Channel::Next::input ? POLLIN : POLLOUT, waiting));
  }
  for (;;) {
    TRY(const bool is_sent, channel.flush_some());
    if (is_sent) return {};
    TRY_VOID(wait(channel, POLLOUT, waiting));
  }
}

}  // namespace muster::http
