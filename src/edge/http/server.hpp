/// HTTP/1.1 over a unix stream socket, or over TCP: one loop, run by one thread. Of a unix socket
/// only the owner and root are served; over TCP anybody is, and who may what is for the caller to
/// find out. Silent, slow and broken peers cost bounded memory and are put out in time.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/time.hpp"
#include "edge/http/exchange.hpp"
#include "edge/http/reader.hpp"

namespace muster::http {

/// Where to listen; an empty host is every address of this machine, port 0 any that is free.
struct TcpAddress {
  std::string host;
  int port = 0;
};
/// "host:port", "[fd00::1]:80", ":80".
Result<TcpAddress> parse_tcp_address(std::string_view text);

struct ServerOptions {
  std::string socket_path;  // of any length; the file is replaced, so the caller holds the lock
  std::optional<TcpAddress> tcp;  // instead
  ReaderLimits limits;
  std::size_t max_connections = 4096;  // past it the longest silent one makes room, else 503
  Duration header_timeout = std::chrono::seconds(60);  // for a whole header, and for a first byte
  Duration body_timeout = std::chrono::seconds(60);    // without a byte of the body
  Duration keep_alive_timeout = std::chrono::minutes(10);
  Duration write_timeout = std::chrono::minutes(10);  // without a byte of an answer taken
  Duration linger = std::chrono::seconds(2);          // a refused peer may finish talking
  Duration stop_grace = std::chrono::seconds(1);      // for answers that are being sent at stop
};

class Server {
 public:
  /// Binds and listens; nothing is accepted before `run`. The socket's mode is 0600 from the start.
  static Result<std::unique_ptr<Server>> listen(ServerOptions options, OnRequest on_request);
  /// Only after `run` has returned. Removes the socket file if it is still ours.
  ~Server();

  /// Serves until `stop`; the calling thread is the server's thread.
  void run();
  /// From any thread, more than once. Answers that are being sent get `stop_grace`, open requests
  /// 503, streams break off.
  void stop();
  /// Runs on the server's thread, in order; dropped after `stop`.
  void post(std::function<void()> work);
  void after(Duration delay, std::function<void()> work);

  std::size_t connections() const;
  /// The TCP port it listens on.
  int port() const;
  /// When a request last came in or was answered.
  std::chrono::steady_clock::time_point last_activity() const;

 private:
  struct Loop;
  explicit Server(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
};

}  // namespace muster::http
