#include "edge/kube/ws_frames.hpp"

#include <optional>

namespace muster::kube {
namespace {

constexpr std::size_t kSmall = 125;
constexpr std::uint8_t kTwoBytes = 126;
constexpr std::uint8_t kEightBytes = 127;

std::uint8_t byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint8_t>(bytes[at]);
}

void append_number(std::string& out, std::uint64_t number, int bytes) {
  for (int at = bytes - 1; at >= 0; --at) out += static_cast<char>(number >> (8 * at) & 0xff);
}

tl::unexpected<Error> broken(std::string_view why) {
  auto failed = fail(Kind::corrupt, "the server's WebSocket frames make no sense");
  failed.value().why = why;
  return failed;
}

bool is_control(WsOp op) { return static_cast<std::uint8_t>(op) >= 8; }

}  // namespace

std::string ws_frame(WsOp op, std::string_view payload, std::uint32_t mask) {
  std::string frame(1, static_cast<char>(0x80 | static_cast<std::uint8_t>(op)));
  if (payload.size() <= kSmall) {
    frame += static_cast<char>(0x80 | payload.size());
  } else if (payload.size() <= 0xffff) {
    frame += static_cast<char>(0x80 | kTwoBytes);
    append_number(frame, payload.size(), 2);
  } else {
    frame += static_cast<char>(0x80 | kEightBytes);
    append_number(frame, payload.size(), 8);
  }
  append_number(frame, mask, 4);
  const auto begin = frame.size();
  frame += payload;
  for (std::size_t at = 0; at < payload.size(); ++at)
    frame[begin + at] = static_cast<char>(frame[begin + at] ^ (mask >> (24 - 8 * (at % 4)) & 0xff));
  return frame;
}

struct WsReader::Head {
  bool is_last = false;
  WsOp op = WsOp::more;
  std::size_t size = 0;
  std::size_t bytes = 0;  // of the head itself

  /// Nothing when it is not there yet.
  static Result<std::optional<Head>> read(std::string_view bytes) {
    if (bytes.size() < 2) return std::nullopt;
    const auto first = byte_at(bytes, 0);
    const auto second = byte_at(bytes, 1);
    const int op = first & 0x0f;
    if ((first & 0x70) != 0) return broken("an extension that was not agreed on");
    if (op > 10 || (op > 2 && op < 8)) return broken("an unknown kind of frame");
    if ((second & 0x80) != 0) return broken("a masked frame from a server");
    Head head{.is_last = (first & 0x80) != 0, .op = static_cast<WsOp>(op)};
    const auto small = static_cast<std::uint8_t>(second & 0x7f);
    const std::size_t extra = small == kTwoBytes ? 2 : small == kEightBytes ? 8 : 0;
    head.bytes = 2 + extra;
    if (bytes.size() < head.bytes) return std::nullopt;
    std::uint64_t size = extra == 0 ? small : 0;
    for (std::size_t at = 0; at < extra; ++at) size = size << 8 | byte_at(bytes, 2 + at);
    if ((extra == 2 && size <= kSmall) || (extra == 8 && size <= 0xffff))
      return broken("a length in more bytes than it needs");
    if (is_control(head.op) && (!head.is_last || size > kSmall))
      return broken("a control frame in parts, or too large");
    head.size = size;
    return head;
  }
};

Result<> WsReader::accept(const Head& head, std::string_view payload, const OnMessage& on_message) {
  if (is_control(head.op)) return on_message(head.op, payload);
  if ((head.op == WsOp::more) != (op_ != WsOp::more))
    return broken("the parts of a message are out of order");
  if (head.op != WsOp::more && head.is_last) return on_message(head.op, payload);
  if (head.op != WsOp::more) op_ = head.op;
  if (message_.size() + payload.size() > largest_) return broken("a message that is too large");
  message_ += payload;
  if (!head.is_last) return {};
  const auto op = std::exchange(op_, WsOp::more);
  const auto whole = std::exchange(message_, {});
  return on_message(op, whole);
}

Result<bool> WsReader::take(std::string_view& bytes, const OnMessage& on_message) {
  TRY(const auto head, Head::read(bytes));
  if (!head) return false;
  if (head->size > largest_) return broken("a frame that is too large");
  if (bytes.size() - head->bytes < head->size) return false;
  const auto payload = bytes.substr(head->bytes, head->size);
  bytes.remove_prefix(head->bytes + head->size);
  TRY_VOID(accept(*head, payload, on_message));
  return true;
}

Result<> WsReader::feed(std::string_view bytes, const OnMessage& on_message) {
  buffer_ += bytes;
  std::string_view rest = buffer_;
  for (;;) {
    auto taken = take(rest, on_message);
    if (!taken) return tl::unexpected(taken.error());
    if (!*taken) break;
  }
  buffer_.erase(0, buffer_.size() - rest.size());
  return {};
}

}  // namespace muster::kube
