/// WebSocket frames (RFC 6455), the client's side: masked out, unmasked in. Whatever breaks the
/// rules is an error, never a crash. Pure; one thread.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace muster::kube {

enum class WsOp : std::uint8_t { more = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

/// A whole message as one frame.
std::string ws_frame(WsOp op, std::string_view payload, std::uint32_t mask);

class WsReader {
 public:
  /// `op` is text, binary, close, ping or pong; parts of a message are put together first.
  using OnMessage = std::function<Result<>(WsOp op, std::string_view payload)>;
  static constexpr std::size_t kLargest = 16U << 20;

  explicit WsReader(std::size_t largest = kLargest) : largest_(largest) {}
  Result<> feed(std::string_view bytes, const OnMessage& on_message);

 private:
  struct Head;
  Result<bool> take(std::string_view& bytes, const OnMessage& on_message);
  Result<> accept(const Head& head, std::string_view payload, const OnMessage& on_message);

  std::size_t largest_;
  std::string buffer_;
  std::string message_;   // of several frames
  WsOp op_ = WsOp::more;  // of that message; `more` when there is none
};

}  // namespace muster::kube
