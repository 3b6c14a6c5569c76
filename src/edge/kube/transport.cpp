#include "edge/kube/transport.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "base/text.hpp"
#include "edge/http/client.hpp"
#include "edge/http/reader.hpp"
#include "edge/kube/names.hpp"
#include "edge/kube/tls.hpp"

namespace muster::kube {
namespace {

using http::Channel;
using http::Waiting;
using ChannelPtr = std::unique_ptr<Channel>;

tl::unexpected<Error> unreachable(const Url& url, int error_number) {
  auto failed = fail(Kind::unavailable, fmt::format("nobody answers at {}", url.authority()),
                     "is the cluster up, and this machine on its network?");
  failed.value().why = std::generic_category().message(error_number);
  return failed;
}

void set(int fd, int level, int option, int value) {
  ::setsockopt(fd, level, option, &value, sizeof(value));
}

/// Small requests go at once; a peer that vanished is noticed within a minute even in silence.
void tune(int fd) {
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

/// 0, or the errno of one address.
Result<int> connect_one(int fd, const SocketAddress& address, const Waiting& waiting) {
  const auto* where = reinterpret_cast<const sockaddr*>(&address.storage);
  if (::connect(fd, where, address.size) == 0) return 0;
  if (errno != EINPROGRESS && errno != EINTR) return errno;
  TRY(const bool is_ready, http::wait_for(fd, POLLOUT, waiting.stop, http::after(waiting.silence)));
  if (!is_ready) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof(error);
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

Result<ChannelPtr> connect_tcp(const Url& url, const Waiting& waiting) {
  TRY(const auto addresses, addresses_of(url.host, url.port, waiting));
  int error = EADDRNOTAVAIL;
  // Each address gets its share, so that a dead first one leaves time for the others.
  auto share = waiting;
  if (waiting.silence != Duration::max() && !addresses.empty())
    share.silence = waiting.silence / static_cast<std::int64_t>(addresses.size());
  for (const auto& address : addresses) {
    UniqueFd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) return fail_errno("cannot make a socket", errno);
    tune(fd.get());
    TRY(error, connect_one(fd.get(), address, share));
    if (error == 0) return http::socket_channel(std::move(fd));
  }
  return unreachable(url, error);
}

tl::unexpected<Error> proxy_refused(const Url& proxy, std::string why) {
  auto failed =
      fail(Kind::unavailable, fmt::format("the proxy {} does not connect", proxy.authority()),
           "look at proxy-url in the kubeconfig, or at HTTPS_PROXY and NO_PROXY");
  failed.value().why = std::move(why);
  return failed;
}

Result<> ask_connect(Channel& channel, const Route& route, const Waiting& waiting) {
  const auto target = route.server.authority();
  std::string text = fmt::format("CONNECT {} HTTP/1.1\r\nHost: {}\r\n", target, target);
  if (!route.proxy->user.empty())
    text += fmt::format("Proxy-Authorization: Basic {}\r\n", to_base64(route.proxy->user));
  TRY_VOID(http::write(channel, text + "\r\n", waiting));
  // An answer to CONNECT has no body, whatever its headers say.
  http::ResponseReader reader({}, http::BodyRule::absent);
  std::array<char, 1> one;  // a byte at a time: what follows is the server's
  while (!reader.has_head()) {
    TRY(const auto count, http::read(channel, one, waiting));
    TRY_VOID(count == 0 ? reader.finish() : reader.feed({one.data(), count}));
  }
  if (reader.status() / 100 == 2) return {};
  return proxy_refused(*route.proxy, fmt::format("it answered {} {}", reader.status(),
                                                 http::status_text(reader.status())));
}

Result<std::string> read_exactly(Channel& channel, std::size_t count, const Waiting& waiting) {
  std::string bytes(count, '\0');
  std::size_t have = 0;
  while (have < count) {
    TRY(const auto more, http::read(channel, std::span(bytes).subspan(have), waiting));
    if (more == 0) return fail(Kind::unavailable, "the proxy closed the connection");
    have += more;
  }
  return bytes;
}

/// RFC 1928 and 1929, the name left to the proxy.
Result<> ask_socks(Channel& channel, const Route& route, const Waiting& waiting) {
  const auto colon = route.proxy->user.find(':');
  const auto user = route.proxy->user.substr(0, colon);
  const auto password = colon == std::string::npos ? "" : route.proxy->user.substr(colon + 1);
  const auto& host = route.server.host;
  if (host.size() > 255 || user.size() > 255 || password.size() > 255)
    return fail(Kind::usage, "a name is too long for a SOCKS proxy");
  const auto sized = [](const std::string& text) {
    return std::string(1, static_cast<char>(text.size())) + text;
  };
  TRY_VOID(http::write(channel, user.empty() ? std::string("\5\1\0", 3) : std::string("\5\1\2"),
                       waiting));
  TRY(const auto method, read_exactly(channel, 2, waiting));
  if (method[1] == 2 && !user.empty()) {
    TRY_VOID(http::write(channel, "\1" + sized(user) + sized(password), waiting));
    TRY(const auto verdict, read_exactly(channel, 2, waiting));
    if (verdict[1] != 0) return proxy_refused(*route.proxy, "it does not take the password");
  } else if (method[1] != 0) {
    return proxy_refused(*route.proxy, "it wants another proof");
  }
  std::string request("\5\1\0\3", 4);
  request += sized(host);
  request += static_cast<char>(route.server.port >> 8);
  request += static_cast<char>(route.server.port & 0xff);
  TRY_VOID(http::write(channel, request, waiting));
  TRY(const auto head, read_exactly(channel, 5, waiting));
  if (head[1] != 0) return proxy_refused(*route.proxy, fmt::format("SOCKS code {}", int{head[1]}));
  const std::size_t address = head[3] == 1   ? 4U
                              : head[3] == 4 ? 16U
                                             : static_cast<unsigned char>(head[4]) + 1U;
  TRY_VOID(read_exactly(channel, address - 1 + 2, waiting));
  return {};
}

}  // namespace

Result<ChannelPtr> reach(const Route& route, const Waiting& waiting) {
  if (!route.proxy) return connect_tcp(route.server, waiting);
  const auto& proxy = *route.proxy;
  TRY(auto channel, within(connect_tcp(proxy, waiting), "the proxy"));
  if (proxy.scheme == "socks5" || proxy.scheme == "socks5h") {
    TRY_VOID(ask_socks(*channel, route, waiting));
    return channel;
  }
  if (proxy.scheme == "https") {
    TRY(const auto context, TlsContext::make({}));
    TRY(channel, within(context->connect(std::move(channel), proxy.host, waiting), "the proxy"));
  } else if (proxy.scheme != "http") {
    return fail(Kind::usage, fmt::format("a proxy of kind {} is not known", proxy.scheme),
                "use http, https or socks5");
  }
  TRY_VOID(ask_connect(*channel, route, waiting));
  return channel;
}

}  // namespace muster::kube
