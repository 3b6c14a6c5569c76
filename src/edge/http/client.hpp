/// A blocking HTTP/1.1 client: one connection (a unix socket, or any channel), one request at a
/// time, kept open between them. Every wait has a deadline and can be broken off. One thread at a
/// time.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/time.hpp"
#include "edge/http/channel.hpp"
#include "edge/http/message.hpp"
#include "edge/http/wait.hpp"

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

/// False stops the stream.
using OnChunk = std::function<bool(std::string_view chunk)>;

/// Who is at the other end, in headers and in messages.
struct Peer {
  std::string name;             // of the errors: a socket's path, or host and port
  std::string host = "muster";  // the Host header
  std::string fix;              // what to do about its silence
};

class Connection {
 public:
  /// `timeout` bounds connecting, and any silence of the server within a call. Nobody there is
  /// `unavailable`; the errors name the socket.
  static Result<Connection> open(const std::string& socket_path, Duration timeout, Stop stop = {});
  /// Over a channel that is connected already.
  Connection(std::unique_ptr<Channel> channel, Peer peer, Duration timeout, Stop stop);

  Result<ClientResponse> call(const ClientRequest& request);
  /// A 2xx answer goes to `on_chunk` as it comes, and may be silent for `silence`; any other answer
  /// is returned whole, as by `call`.
  Result<ClientResponse> stream(const ClientRequest& request, const OnChunk& on_chunk,
                                Duration silence = Duration::max());

  /// Another request may be sent: the last answer was read whole, and the server has not closed.
  bool is_usable() const;
  /// For a caller that polls for more than this connection.
  int fd() const { return channel_->fd(); }

 private:
  struct Streaming {
    const OnChunk& on_chunk;
    Duration silence;
  };
  Result<ClientResponse> exchange(const ClientRequest& request, const Streaming* streaming);
  Result<ClientResponse> once(const ClientRequest& request, const Streaming* streaming);
  Error named(Error error) const;

  std::unique_ptr<Channel> channel_;
  Peer peer_;
  Waiting waiting_;
  std::string scratch_;
  bool is_spent_ = false;  // something went wrong or was left unread
};

/// The request's head as it goes over the wire, the empty line included.
std::string request_text(const ClientRequest& request, std::string_view host);
/// A request that would not arrive as it was meant is the caller's mistake.
Result<> checked(const ClientRequest& request);

}  // namespace muster::http
