// Certificates that must not be trusted, and the words for it; client certificates; proxies.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "unit/edge_kube/fake_server.hpp"

namespace muster::kube {
namespace {

const ObjectRef kPod{.resource = pods(), .space = "default", .name = "a"};

bool fine(const http::Request&, Wire& wire) { return wire.answer(200, "{}"); }

ApiResult<std::string> get(const Target& target) {
  Api api(*Cluster::open(target, {.retries = 0}));
  return api.get(kPod);
}

void expect_refused(const Target& target, std::string_view reason) {
  const auto got = get(target);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, Kind::denied);
  EXPECT_NE(got.error().why.find(reason), std::string::npos) << to_text(got.error());
}

TEST(Tls, AnotherAuthorityIsRefused) {
  FakeServer server(fine);
  auto target = server.target();
  target.cluster.ca_pem = Authority("somebody else").pem();
  expect_refused(target, "its authority is not the cluster's: it was issued by /CN=test authority");
  EXPECT_EQ(server.requests(), 0);
}

TEST(Tls, AnotherNameIsRefusedAndTheNamesAreTold) {
  FakeServer server(fine, {.leaf = {.alt_names = "DNS:elsewhere,IP:10.0.0.1"}});
  expect_refused(server.target(), "it is for other names: elsewhere, 10.0.0.1");
}

TEST(Tls, AnotherServerNameIsAskedForWhenTheKubeconfigSaysSo) {
  FakeServer server(fine, {.leaf = {.alt_names = "DNS:inner"}});
  auto target = server.target();
  target.cluster.tls_server_name = "inner";
  EXPECT_TRUE(get(target));
  target.cluster.tls_server_name = "outer";
  expect_refused(target, "other names: inner");
}

TEST(Tls, AnExpiredCertificateIsRefusedWithItsDate) {
  FakeServer server(fine, {.leaf = {.valid_from = -7200, .valid_to = -3600}});
  expect_refused(server.target(), "it expired on ");
}

TEST(Tls, ACertificateOfTheFutureIsRefused) {
  FakeServer server(fine, {.leaf = {.valid_from = 3000, .valid_to = 3600}});
  expect_refused(server.target(), "it is not valid before ");
}

TEST(Tls, NothingIsLookedAtWhenTheKubeconfigSaysSo) {
  FakeServer server(fine, {.leaf = {.alt_names = "DNS:elsewhere"}});
  auto target = server.target();
  target.cluster.ca_pem.clear();
  target.cluster.is_insecure = true;
  EXPECT_TRUE(get(target));
}

TEST(Tls, APlainServerIsToldApart) {
  FakeServer server(fine, {.is_plain = true});
  auto target = server.target();
  EXPECT_TRUE(get(target));
  target.cluster.server = fmt::format("https://127.0.0.1:{}", server.port());
  const auto got = get(target);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, Kind::unavailable);
}

TEST(Tls, AKeyThatDoesNotBelongToItsCertificateIsTold) {
  FakeServer server(fine);
  auto target = server.target();
  target.user.cert_pem = server.authority().issue({.is_client = true}).cert_pem;
  target.user.key_pem = server.authority().issue({.is_client = true}).key_pem;
  const auto got = get(target);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, Kind::usage);
  EXPECT_NE(got.error().what.find("does not belong"), std::string::npos) << got.error().what;
}

/// Answers CONNECT, then carries bytes to the server that was asked for.
class Proxy {
 public:
  explicit Proxy(int status = 200)
      : server_(fine, {.is_plain = true, .raw = [this, status](Wire& wire) {
                         std::string head;
                         while (head.find("\r\n\r\n") == std::string::npos) head += wire.receive();
                         {
                           const std::lock_guard lock(mutex_);
                           asked_ = head;
                         }
                         if (status != 200)
                           wire.answer(status, "no");
                         else
                           carry(wire, std::stoi(head.substr(head.find(':') + 1)));
                       }}) {}
  std::string url(std::string_view user = "") const {
    return fmt::format("http://{}127.0.0.1:{}", user, server_.port());
  }
  std::string asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  static void carry(Wire& wire, int port) {
    UniqueFd far(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{.sin_family = AF_INET,
                        .sin_port = htons(static_cast<std::uint16_t>(port)),
                        .sin_addr = {htonl(INADDR_LOOPBACK)}};
    ::connect(far.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address));
    wire.send("HTTP/1.1 200 Connection established\r\n\r\n");
    std::array<pollfd, 2> both{pollfd{wire.fd(), POLLIN, 0}, pollfd{far.get(), POLLIN, 0}};
    for (;;) {
      ::poll(both.data(), 2, -1);
      for (std::size_t i = 0; i < 2; ++i) {
        if (both[i].revents == 0) continue;
        std::array<char, 8192> piece;
        const auto count = ::recv(both[i].fd, piece.data(), piece.size(), 0);
        if (count <= 0) return;
        ::send(both[1 - i].fd, piece.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL);
      }
    }
  }
  mutable std::mutex mutex_;
  std::string asked_;
  FakeServer server_;
};

TEST(Proxy, ConnectReachesTheServerThroughIt) {
  FakeServer server(fine);
  auto target = server.target();
  Proxy proxy;
  target.cluster.proxy_url = proxy.url("ann:pw@");
  EXPECT_TRUE(get(target));
  EXPECT_EQ(proxy.asked(), fmt::format("CONNECT 127.0.0.1:{0} HTTP/1.1\r\nHost: 127.0.0.1:{0}\r\n"
                                       "Proxy-Authorization: Basic YW5uOnB3\r\n\r\n",
                                       server.port()));
}

TEST(Proxy, ItsRefusalIsTold) {
  FakeServer server(fine);
  Proxy proxy(407);
  auto target = server.target();
  target.cluster.proxy_url = proxy.url();
  const auto got = get(target);
  ASSERT_FALSE(got);
  EXPECT_NE(to_line(got.error()).find("407"), std::string::npos) << to_line(got.error());
  EXPECT_EQ(server.requests(), 0);
}

TEST(Proxy, TheEnvironmentsProxyIsTakenUnlessTheHostIsExempt) {
  FakeServer server(fine);
  Proxy proxy;
  const auto get_with = [&](const Environment& env) {
    Api api(*Cluster::open(server.target(), {.retries = 0, .env = env}));
    return api.get(kPod).has_value();
  };
  EXPECT_TRUE(get_with({{"HTTPS_PROXY", proxy.url()}, {"NO_PROXY", "127.0.0.0/8"}}));
  EXPECT_TRUE(proxy.asked().empty());
  EXPECT_TRUE(get_with({{"HTTPS_PROXY", proxy.url()}}));
  EXPECT_FALSE(proxy.asked().empty());
}

}  // namespace
}  // namespace muster::kube
