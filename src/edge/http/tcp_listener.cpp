#include "edge/http/tcp_listener.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/text.hpp"
#include "base/units.hpp"

namespace muster::http {
namespace {

constexpr int kBacklog = 1024;

struct Bindable {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

Bindable six(const in6_addr& host, int port) {
  Bindable out;
  auto& address = reinterpret_cast<sockaddr_in6&>(out.storage);
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(static_cast<std::uint16_t>(port));
  address.sin6_addr = host;
  out.size = sizeof address;
  return out;
}

Bindable four(in_addr host, int port) {
  Bindable out;
  auto& address = reinterpret_cast<sockaddr_in&>(out.storage);
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr = host;
  out.size = sizeof address;
  return out;
}

/// In the order of trying. Everywhere is both families at once; where a kernel has one only, that.
std::vector<Bindable> places_of(const TcpAddress& where) {
  if (where.host.empty()) return {six(in6addr_any, where.port), four({INADDR_ANY}, where.port)};
  in_addr v4{};
  in6_addr v6{};
  if (::inet_pton(AF_INET, where.host.c_str(), &v4) == 1) return {four(v4, where.port)};
  if (::inet_pton(AF_INET6, where.host.c_str(), &v6) == 1) return {six(v6, where.port)};
  return {};
}

UniqueFd try_at(const Bindable& place) {
  UniqueFd fd(::socket(place.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return fd;
  const int on = 1, off = 0;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // Connections inherit these: small answers go at once, a peer that vanished is noticed.
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  if (place.storage.ss_family == AF_INET6)
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  const auto* address = reinterpret_cast<const sockaddr*>(&place.storage);
  if (::bind(fd.get(), address, place.size) != 0 || ::listen(fd.get(), kBacklog) != 0) {
    const int error = errno;
    fd.reset();
    errno = error;
  }
  return fd;
}

}  // namespace

Result<TcpAddress> parse_tcp_address(std::string_view text) {
  const auto colon = text.rfind(':');
  const auto bad = fail(Kind::usage, fmt::format("\"{}\" is no address", printable(text)),
                        "write it as HOST:PORT, [HOST]:PORT with an IPv6 address, or :PORT");
  if (colon == std::string_view::npos) return bad;
  auto host = text.substr(0, colon);
  const bool is_bracketed = host.starts_with('[') && host.ends_with(']');
  if (is_bracketed) host = host.substr(1, host.size() - 2);
  const auto port = parse_whole(text.substr(colon + 1), 1, 65'535);
  const bool is_host = is_bracketed || host.find_first_of(":/[]@ ") == std::string_view::npos;
  if (!port || !is_host || printable(host) != host) return bad;
  return TcpAddress{std::string(host), static_cast<int>(*port)};
}

Result<UniqueFd> listen_tcp(const TcpAddress& address) {
  const auto places = places_of(address);
  if (places.empty())
    return fail(Kind::usage,
                fmt::format("cannot listen on \"{}\": it is no address", printable(address.host)),
                "give it in figures, as 10.0.0.5:7800, or :7800 for all of this machine");
  for (const auto& place : places)
    if (auto fd = try_at(place)) return fd;
  return fail_errno(fmt::format("cannot listen on {}:{}", address.host, address.port), errno);
}

int port_of(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return 0;
  if (storage.ss_family == AF_INET)
    return ntohs(reinterpret_cast<const sockaddr_in&>(storage).sin_port);
  if (storage.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6&>(storage).sin6_port);
  return 0;
}

}  // namespace muster::http
