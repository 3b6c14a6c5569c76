/// An API server that says exactly what a test wants, over TLS on a loopback port: each request is
/// given to the script together with the wire, which takes any bytes.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/unique_fd.hpp"
#include "edge/http/message.hpp"
#include "edge/kube/api.hpp"
#include "unit/edge_kube/certificates.hpp"

struct ssl_st;
struct ssl_ctx_st;

namespace muster::kube {

/// The server's end of one connection. Closes when the script returns false.
class Wire {
 public:
  Wire(int fd, ssl_st* ssl) : fd_(fd), ssl_(ssl) {}
  /// False when the client has gone.
  bool send(std::string_view bytes);
  /// Some bytes; empty at the end.
  std::string receive();
  bool answer(int status, std::string_view body, const http::Headers& headers = {});
  /// The head of a body in chunks, a chunk, and the end of them.
  bool begin_chunks(int status = 200);
  bool chunk(std::string_view bytes);
  bool end_chunks() { return send("0\r\n\r\n"); }
  int fd() const { return fd_; }

 private:
  int fd_;
  ssl_st* ssl_;
};

class FakeServer {
 public:
  /// False ends the connection.
  using Script = std::function<bool(const http::Request& request, Wire& wire)>;
  struct Options {
    Leaf leaf = {};
    bool is_plain = false;                     // no TLS at all
    std::function<void(Wire& wire)> raw = {};  // speaks for itself, instead of the script
  };

  explicit FakeServer(Script script) : FakeServer(std::move(script), Options{}) {}
  FakeServer(Script script, Options options);
  ~FakeServer();

  std::string url() const;
  int port() const { return port_; }
  const std::string& ca_pem() const { return authority_.pem(); }
  const Authority& authority() const { return authority_; }
  /// A target that trusts this server, with a token.
  Target target() const;
  /// Quick tries, so that a test of many is short.
  std::shared_ptr<Cluster> cluster() const;
  int connections() const { return connections_; }
  int requests() const { return requests_; }

 private:
  void accept_all();
  void serve(int fd);

  Script script_;
  Options options_;
  Authority authority_;
  ssl_ctx_st* context_ = nullptr;
  UniqueFd listening_;
  int port_ = 0;
  std::atomic<int> connections_ = 0;
  std::atomic<int> requests_ = 0;
  std::mutex mutex_;
  std::vector<int> open_;
  std::vector<std::thread> serving_;
  std::thread accepting_;
};

/// "{"kind":"Status",...}"
std::string status_json(int code, std::string_view reason, std::string_view message = "no");
/// A pod as small as it gets.
std::string pod_json(std::string_view name, std::string_view version);
/// A line of a watch.
std::string event_json(std::string_view type, std::string_view object);

/// Looks again and again until it is so, or the deadline has passed.
bool eventually(const std::function<bool()>& is_so);

}  // namespace muster::kube
