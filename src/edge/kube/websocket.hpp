/// One WebSocket to an API server, both ways at once: nothing here blocks but `open` and `wait`, so
/// that whoever sends much may also be sent much. One thread at a time.
#pragma once
#include <poll.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.hpp"
#include "edge/http/channel.hpp"
#include "edge/kube/api.hpp"
#include "edge/kube/ws_frames.hpp"

namespace muster::kube {

class WebSocket {
 public:
  /// Asks for the first of `protocols` that the server knows.
  static ApiResult<WebSocket> open(Cluster& cluster, const Call& call,
                                   const std::vector<std::string>& protocols,
                                   const http::Stop& stop);

  const std::string& protocol() const { return protocol_; }
  /// A binary message on its way; see `queued`.
  void send(std::string_view payload);
  /// Bytes that are not yet on the wire. Who sends without looking at it fills the memory.
  std::size_t queued() const { return queue_.size(); }

  using OnMessage = std::function<Result<>(std::string_view payload)>;
  /// Moves what can be moved now, in both directions. False when the server has closed.
  Result<bool> move(const OnMessage& on_message);
  /// Waits until there is something to move, or one of `others` is ready; false at the deadline.
  Result<bool> wait(std::vector<pollfd>& others, const http::Stop& stop, http::Deadline deadline);
  /// A farewell; what is queued is sent as far as it goes within `patience`.
  void close(Duration patience);

 private:
  WebSocket(std::unique_ptr<http::Channel> channel, std::string protocol, std::string early);
  Result<> write_some();
  Result<bool> read_some(const OnMessage& on_message);
  Result<> take(WsOp op, std::string_view payload, const OnMessage& on_message);
  void queue(WsOp op, std::string_view payload);

  std::unique_ptr<http::Channel> channel_;
  std::string protocol_;
  std::string early_;  // frames that came with the answer
  WsReader reader_;
  std::string queue_;
  bool is_flushed_ = true;
  bool is_closed_ = false;  // by the server
  bool has_said_farewell_ = false;
  bool is_pinged_ = false;  // and not answered since
  http::Deadline heard_;
};

}  // namespace muster::kube
