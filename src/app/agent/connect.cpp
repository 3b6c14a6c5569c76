#include "app/agent/connect.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "app/agent/addresses.hpp"
#include "edge/process/clocks.hpp"

namespace muster::agent {
namespace {

/// Errno, 0 when it is connected.
int finish_connect(int fd, Duration until) {
  if (errno != EINPROGRESS) return errno;
  if (!wait_for(fd, POLLOUT, until)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

Result<UniqueFd> connect_at(const Address& address, int port, Duration until) {
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(static_cast<std::uint16_t>(port));
  six.sin6_addr = address;
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = six.sin6_port;
  const bool is_four = IN6_IS_ADDR_V4MAPPED(&address);
  if (is_four) std::memcpy(&four.sin_addr, &address.s6_addr[12], 4);
  UniqueFd fd(
      ::socket(is_four ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return fail_errno("cannot make a socket", errno);
  const int done = is_four
                       ? ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&four), sizeof four)
                       : ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&six), sizeof six);
  if (const int error = done == 0 ? 0 : finish_connect(fd.get(), until); error != 0)
    return fail(Kind::unavailable, fmt::format("no connection: {}", std::strerror(error)));
  return fd;
}

}  // namespace

bool wait_for(int fd, short what, Duration until) {
  for (;;) {
    const auto left = until - process::monotonic_now();
    if (left.count() <= 0) return false;
    pollfd entry{fd, what, 0};
    const auto ms = std::min<std::int64_t>(left.count() / 1000 + 1, 60'000);
    if (::poll(&entry, 1, static_cast<int>(ms)) > 0) return true;
  }
}

Result<UniqueFd> connect_to(const std::string& host, int port, Duration patience) {
  TRY(const auto addresses, addresses_of(host));
  Result<UniqueFd> fd = fail(Kind::unavailable, "no address");
  for (const auto& address : addresses) {
    fd = connect_at(address, port, process::monotonic_now() + patience);
    if (fd) break;
  }
  return fd;
}

}  // namespace muster::agent
