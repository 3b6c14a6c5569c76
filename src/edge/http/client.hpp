/// A blocking HTTP/1.1 client on a unix socket: one connection, one request at a time, kept open
/// between them. Every wait has a deadline and can be broken off. One thread at a time.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/time.hpp"
#include "base/unique_fd.hpp"
#include "edge/http/message.hpp"

namespace muster::http {

struct ClientRequest {
  std::string method = "GET";
  std::string target = "/";  // path and query, encoded
  std::string content_type = "application/json";
  std::string body;
  Headers headers;
};

struct ClientResponse {
  int status = 0;
  Headers headers;
  std::string body;  // empty when it went to `on_chunk`
};

/// What breaks a wait off; either part may be absent. With a descriptor that becomes readable (a
/// signalfd, a pipe) the client sleeps until then; a flag alone is looked at four times a second
/// and after every signal.
struct Stop {
  int fd = -1;
  const std::atomic<bool>* flag = nullptr;
};

/// False stops the stream.
using OnChunk = std::function<bool(std::string_view chunk)>;

class Connection {
 public:
  /// `timeout` bounds connecting, and any silence of the server within a call. Nobody there is
  /// `unavailable`; the errors name the socket.
  static Result<Connection> open(const std::string& socket_path, Duration timeout, Stop stop = {});

  Result<ClientResponse> call(const ClientRequest& request);
  /// A 2xx answer goes to `on_chunk` as it comes, and may be silent for as long as it likes; any
  /// other answer is returned whole, as by `call`.
  Result<ClientResponse> stream(const ClientRequest& request, const OnChunk& on_chunk);

  /// Another request may be sent: the last answer was read whole, and the server has not closed.
  bool is_usable() const;
  /// For a caller that polls for more than this connection.
  int fd() const { return socket_.get(); }

 private:
  Connection(UniqueFd socket, std::string path, Duration timeout, Stop stop);

  using Deadline = std::chrono::steady_clock::time_point;
  enum class Patience { bounded, endless };
  Result<> wait(short events, Patience patience) const;
  Result<> send(std::string_view bytes);
  Result<std::size_t> receive(Patience patience);
  Result<ClientResponse> exchange(const ClientRequest& request, const OnChunk* on_chunk);
  Error named(Error error) const;

  UniqueFd socket_;
  std::string path_;
  Duration timeout_;
  Stop stop_;
  std::string scratch_;
  bool is_spent_ = false;  // something went wrong or was left unread
};

}  // namespace muster::http
