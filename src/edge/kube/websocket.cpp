#include "edge/kube/websocket.hpp"

#include <openssl/evp.h>

#include <array>
#include <cstring>

#include "base/text.hpp"
#include "edge/http/client.hpp"
#include "edge/http/reader.hpp"

namespace muster::kube {
namespace {

constexpr int kTries = 4;
constexpr auto kFirstPause = std::chrono::milliseconds(200);
/// Balancers forget silent connections after minutes; a ping in between keeps them, and shows
/// whether anybody is still there.
constexpr auto kPingAfter = std::chrono::seconds(30);
constexpr auto kDeadAfter = std::chrono::seconds(90);

/// What a server answers to a key: RFC 6455, 4.2.2.
std::string accept_of(const std::string& key) {
  const auto text = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr);
  return to_base64({reinterpret_cast<const char*>(digest.data()), size});
}

std::uint32_t fresh_mask() {
  const auto bytes = random_bytes(4);
  std::uint32_t mask = 0;
  std::memcpy(&mask, bytes.data(), sizeof(mask));
  return mask;
}

struct Upgrade {
  int status = 0;
  http::Headers headers;
  std::string body;
  std::string rest;
};

Result<Upgrade> ask(http::Channel& channel, const std::string& text, const http::Waiting& waiting) {
  TRY_VOID(http::write(channel, text, waiting));
  http::ResponseReader reader({}, http::BodyRule::present);
  std::array<char, 16 * 1024> piece;
  const auto is_over = [&] {
    return reader.is_complete() || (reader.has_head() && reader.status() == 101);
  };
  while (!is_over()) {
    TRY(const auto count, http::read(channel, piece, waiting));
    TRY_VOID(count == 0 ? reader.finish() : reader.feed({piece.data(), count}));
  }
  return Upgrade{.status = reader.status(),
                 .headers = reader.headers(),
                 .body = reader.take_body(),
                 .rest = reader.take_rest()};
}

tl::unexpected<ApiError> misunderstood(std::string_view why) {
  auto error = ApiError(fail(Kind::unavailable, "the server does not speak WebSocket as agreed",
                             "is something between here and the cluster that does not?")
                            .value());
  error.why = why;
  return tl::unexpected(error);
}

}  // namespace

WebSocket::WebSocket(std::unique_ptr<http::Channel> channel, std::string protocol,
                     std::string early)
    : channel_(std::move(channel)),
      protocol_(std::move(protocol)),
      early_(std::move(early)),
      heard_(std::chrono::steady_clock::now()) {}

ApiResult<WebSocket> WebSocket::open(Cluster& cluster, const Call& call,
                                     const std::vector<std::string>& protocols,
                                     const http::Stop& stop) {
  const http::Waiting waiting{.stop = stop, .silence = cluster.options().silence};
  const auto key = to_base64(random_bytes(16));
  bool has_renewed = false;
  Duration pause = kFirstPause;
  for (int tries = 1;; ++tries) {
    API_TRY_VOID(cluster.wait_turn(stop));
    API_TRY(auto proof, cluster.proof(stop));
    auto headers = std::move(proof.headers);
    headers.insert(headers.end(), {{"Connection", "Upgrade"},
                                   {"Upgrade", "websocket"},
                                   {"Sec-WebSocket-Version", "13"},
                                   {"Sec-WebSocket-Key", key},
                                   {"Sec-WebSocket-Protocol", join(protocols, ", ")}});
    const http::ClientRequest request{
        .target = cluster.target_of(call.path) + "?" + http::query_text(call.query),
        .headers = std::move(headers)};
    API_TRY_VOID(http::checked(request));
    const auto text = http::request_text(request, cluster.host());
    auto channel = cluster.dial(stop);
    auto upgrade =
        channel ? ask(**channel, text, waiting) : Result<Upgrade>(tl::unexpected(channel.error()));
    if (upgrade && upgrade->status == 101) {
      if (http::find_header(upgrade->headers, "Sec-WebSocket-Accept") != accept_of(key))
        return misunderstood("its answer is to another question");
      std::string protocol(http::find_header(upgrade->headers, "Sec-WebSocket-Protocol"));
      if (std::find(protocols.begin(), protocols.end(), protocol) == protocols.end())
        return misunderstood(fmt::format("it wants to speak \"{}\"", printable(protocol)));
      return WebSocket(std::move(*channel), std::move(protocol), std::move(upgrade->rest));
    }
    auto error = upgrade ? api_error(upgrade->status, upgrade->body, upgrade->headers)
                         : ApiError(upgrade.error());
    if (error.code == 401 && !std::exchange(has_renewed, true) && cluster.refuse(proof.generation))
      continue;
    const bool is_passing = error.code == 429 || error.code == 503 ||
                            (error.code == 0 && error.kind == Kind::unavailable);
    if (!is_passing || tries == kTries) return tl::unexpected(error);
    API_TRY_VOID(http::wait_for(-1, 0, stop,
                                http::after(error.retry_after.value_or(cluster.jittered(pause)))));
    pause *= 2;
  }
}

void WebSocket::queue(WsOp op, std::string_view payload) {
  queue_ += ws_frame(op, payload, fresh_mask());
}

void WebSocket::send(std::string_view payload) { queue(WsOp::binary, payload); }

Result<> WebSocket::write_some() {
  std::size_t sent = 0;
  while (sent < queue_.size()) {
    TRY(const auto moved, channel_->write_some(std::string_view(queue_).substr(sent)));
    if (moved.bytes == 0) break;
    sent += moved.bytes;
  }
  queue_.erase(0, sent);
  TRY(is_flushed_, channel_->flush_some());
  return {};
}

Result<> WebSocket::take(WsOp op, std::string_view payload, const OnMessage& on_message) {
  switch (op) {
    case WsOp::ping: queue(WsOp::pong, payload); return {};
    case WsOp::close: is_closed_ = true; return {};
    case WsOp::pong: return {};
    case WsOp::text:
    case WsOp::binary:
    case WsOp::more: break;
  }
  return is_closed_ ? Result<>{} : on_message(payload);
}

Result<bool> WebSocket::read_some(const OnMessage& on_message) {
  const WsReader::OnMessage taking = [&](WsOp op, std::string_view payload) {
    return take(op, payload, on_message);
  };
  if (!early_.empty()) TRY_VOID(reader_.feed(std::exchange(early_, {}), taking));
  constexpr int kTurns = 16;  // then the other direction has its turn
  std::array<char, 32 * 1024> piece;
  for (int turn = 0; turn < kTurns && !is_closed_; ++turn) {
    TRY(const auto moved, channel_->read_some(piece));
    if (moved.bytes == 0) return moved.next != http::Channel::Next::closed;
    heard_ = std::chrono::steady_clock::now();
    is_pinged_ = false;
    TRY_VOID(reader_.feed({piece.data(), moved.bytes}, taking));
  }
  return !is_closed_;
}

Result<bool> WebSocket::move(const OnMessage& on_message) {
  const auto silent = std::chrono::steady_clock::now() - heard_;
  if (silent > kDeadAfter) return fail(Kind::unavailable, "the server answers no more");
  if (silent > kPingAfter && !std::exchange(is_pinged_, true)) queue(WsOp::ping, "");
  auto written = write_some();
  // What the server said last explains why it takes no more.
  TRY(const bool is_open, read_some(on_message));
  if (is_open && !written) return tl::unexpected(written.error());
  if (is_open && !queue_.empty()) TRY_VOID(write_some());
  return is_open;
}

Result<bool> WebSocket::wait(std::vector<pollfd>& others, const http::Stop& stop,
                             http::Deadline deadline) {
  const bool has_output = !queue_.empty() || !is_flushed_;
  others.push_back({.fd = channel_->fd(),
                    .events = static_cast<short>(POLLIN | (has_output ? POLLOUT : 0)),
                    .revents = 0});
  const auto next_ping = heard_ + (is_pinged_ ? kDeadAfter : kPingAfter);
  auto ready = http::wait_any(others, stop, std::min(deadline, next_ping));
  others.pop_back();
  if (!ready || *ready) return ready;
  return std::chrono::steady_clock::now() < deadline;
}

void WebSocket::close(Duration patience) {
  if (std::exchange(has_said_farewell_, true)) return;
  queue(WsOp::close, std::string("\x03\xe8", 2));  // 1000: done
  (void)http::write(*channel_, std::exchange(queue_, {}), {.stop = {}, .silence = patience});
}

}  // namespace muster::kube
