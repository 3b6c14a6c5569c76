#include "unit/edge_kube/fake_server.hpp"

#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <csignal>

#include "edge/http/reader.hpp"

namespace muster::kube {
namespace {

UniqueFd listen_on_loopback(int& port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address));
  ::listen(fd.get(), 64);
  socklen_t size = sizeof(address);
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  port = ntohs(address.sin_port);
  return fd;
}

SSL_CTX* server_context(const KeyPair& pair) {
  auto* context = SSL_CTX_new(TLS_server_method());
  auto* certs = BIO_new_mem_buf(pair.cert_pem.data(), static_cast<int>(pair.cert_pem.size()));
  auto* keys = BIO_new_mem_buf(pair.key_pem.data(), static_cast<int>(pair.key_pem.size()));
  auto* cert = PEM_read_bio_X509(certs, nullptr, nullptr, nullptr);
  auto* key = PEM_read_bio_PrivateKey(keys, nullptr, nullptr, nullptr);
  SSL_CTX_use_certificate(context, cert);
  SSL_CTX_use_PrivateKey(context, key);
  X509_free(cert);
  EVP_PKEY_free(key);
  BIO_free(certs);
  BIO_free(keys);
  return context;
}

}  // namespace

bool Wire::send(std::string_view bytes) {
  if (ssl_ == nullptr)
    return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  return bytes.empty() || SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())) > 0;
}

std::string Wire::receive() {
  std::array<char, 16384> piece;
  const auto count = ssl_ != nullptr ? SSL_read(ssl_, piece.data(), piece.size())
                                     : ::recv(fd_, piece.data(), piece.size(), 0);
  return count > 0 ? std::string(piece.data(), static_cast<std::size_t>(count)) : std::string();
}

bool Wire::answer(int status, std::string_view body, const http::Headers& headers) {
  return send(http::head_text({.status = status,
                               .content_type = "application/json",
                               .headers = &headers,
                               .framing = http::Framing::length,
                               .length = body.size()}) +
              std::string(body));
}

bool Wire::begin_chunks(int status) {
  return send(http::head_text(
      {.status = status, .content_type = "application/json", .framing = http::Framing::chunked}));
}

bool Wire::chunk(std::string_view bytes) {
  return send(fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes));
}

FakeServer::FakeServer(Script script, Options options)
    : script_(std::move(script)), options_(std::move(options)) {
  ::signal(SIGPIPE, SIG_IGN);
  if (!options_.is_plain) context_ = server_context(authority_.issue(options_.leaf));
  listening_ = listen_on_loopback(port_);
  accepting_ = std::thread([this] { accept_all(); });
}

FakeServer::~FakeServer() {
  ::shutdown(listening_.get(), SHUT_RDWR);
  accepting_.join();
  {
    const std::lock_guard lock(mutex_);
    for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
  }
  for (auto& thread : serving_) thread.join();
  if (context_ != nullptr) SSL_CTX_free(context_);
}

void FakeServer::accept_all() {
  for (;;) {
    const int fd = ::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const std::lock_guard lock(mutex_);
    open_.push_back(fd);
    ++connections_;
    serving_.emplace_back([this, fd] { serve(fd); });
  }
}

void FakeServer::serve(int fd) {
  auto* ssl = context_ != nullptr ? SSL_new(context_) : nullptr;
  if (ssl != nullptr) SSL_set_fd(ssl, fd);
  if (ssl == nullptr || SSL_accept(ssl) == 1) {
    Wire wire(fd, ssl);
    http::RequestReader reader({});
    if (options_.raw) options_.raw(wire);
    for (bool is_open = !options_.raw; is_open;) {
      auto incoming = reader.next();
      if (!incoming) break;
      if (*incoming) {
        ++requests_;
        is_open = script_((*incoming)->request, wire);
        continue;
      }
      const auto bytes = wire.receive();
      if (bytes.empty()) break;
      reader.append(bytes);
    }
  }
  if (ssl != nullptr) SSL_free(ssl);
  const std::lock_guard lock(mutex_);
  std::erase(open_, fd);
  ::close(fd);
}

std::string FakeServer::url() const {
  return fmt::format("{}://127.0.0.1:{}", options_.is_plain ? "http" : "https", port_);
}

Target FakeServer::target() const {
  Target target{.context = "test"};
  target.cluster = {.name = "test", .server = url(), .ca_pem = ca_pem()};
  target.user = {.name = "ann", .token = "secret"};
  return target;
}

std::shared_ptr<Cluster> FakeServer::cluster() const {
  return *Cluster::open(target(), {.silence = std::chrono::seconds(20), .per_second = 1e6});
}

std::string status_json(int code, std::string_view reason, std::string_view message) {
  return fmt::format(
      R"({{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":"{}",)"
      R"("reason":"{}","code":{}}})",
      message, reason, code);
}

std::string pod_json(std::string_view name, std::string_view version) {
  return fmt::format(R"({{"metadata":{{"name":"{}","resourceVersion":"{}"}}}})", name, version);
}

std::string event_json(std::string_view type, std::string_view object) {
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object);
}

bool eventually(const std::function<bool()>& is_so) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace muster::kube
