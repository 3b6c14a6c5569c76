#include "edge/kube/exec.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

#include "core/model/json.hpp"
#include "edge/kube/websocket.hpp"

namespace muster::kube {
namespace {

constexpr std::string_view kV5 = "v5.channel.k8s.io";  // can end the input; 1.29 and later
constexpr char kStdin = 0;
constexpr char kStdout = 1;
constexpr char kStderr = 2;
constexpr char kStatus = 3;
constexpr char kResize = 4;
constexpr std::string_view kEndOfStdin("\xff\x00", 2);
constexpr std::size_t kPiece = 32 * 1024;
constexpr std::size_t kRoom = 256 * 1024;  // of input on its way
constexpr auto kAfterStatus = std::chrono::seconds(2);
constexpr auto kFarewell = std::chrono::seconds(1);

Call call_of(const ExecRequest& request, bool has_input) {
  http::Query query;
  for (const auto& word : request.argv) query.emplace_back("command", word);
  if (!request.container.empty()) query.emplace_back("container", request.container);
  if (has_input) query.emplace_back("stdin", "true");
  query.emplace_back("stdout", "true");
  // A terminal has one way out; servers refuse to be asked for two.
  query.emplace_back(request.is_terminal ? "tty" : "stderr", "true");
  return {.path = path_of(ObjectRef{pods(), request.space, request.pod, "exec"}),
          .query = std::move(query)};
}

class Session {
 public:
  Session(WebSocket socket, const ExecStreams& streams, const http::Stop& stop)
      : socket_(std::move(socket)), streams_(streams), stop_(stop) {
    has_input_ = streams.in >= 0 || streams.source;
  }

  ApiResult<int> run() {
    const WebSocket::OnMessage on_message = [&](std::string_view bytes) { return take(bytes); };
    auto deadline = http::Deadline::max();
    tell_size();
    for (;;) {
      API_TRY_VOID(feed());
      API_TRY(const bool is_open, socket_.move(on_message));
      if (!is_open || (status_ && std::chrono::steady_clock::now() >= deadline)) break;
      // Nothing follows a status but the farewell.
      if (status_ && deadline == http::Deadline::max()) deadline = http::after(kAfterStatus);
      API_TRY_VOID(wait(deadline));
    }
    if (status_) {
      socket_.close(kFarewell);
      return exec_outcome(*status_);
    }
    return tl::unexpected(
        ApiError(fail(Kind::unavailable, "the connection was lost before the command had ended",
                      "nobody knows whether it still runs: look")
                     .value()));
  }

 private:
  bool wants_input() const { return has_input_ && !status_ && socket_.queued() < kRoom; }

  Result<> feed() {
    while (wants_input() && streams_.source) {
      TRY(const auto piece, streams_.source());
      give(piece);
    }
    if (!wants_input() || streams_.in < 0 || !is_readable_) return {};
    is_readable_ = false;
    std::array<char, kPiece> piece;
    const auto count = ::read(streams_.in, piece.data(), piece.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return {};
    if (count < 0) return fail_errno("cannot read the command's input", errno);
    give({piece.data(), static_cast<std::size_t>(count)});
    return {};
  }

  /// An empty piece is the end of the input.
  void give(std::string_view bytes) {
    if (bytes.empty()) {
      has_input_ = false;
      socket_.send(kEndOfStdin);
      return;
    }
    for (; !bytes.empty(); bytes.remove_prefix(std::min(kPiece, bytes.size())))
      socket_.send(std::string(1, kStdin) + std::string(bytes.substr(0, kPiece)));
  }

  Result<> take(std::string_view bytes) {
    if (bytes.empty()) return {};
    const char channel = bytes.front();
    bytes.remove_prefix(1);
    if (channel == kStdout && streams_.out && !bytes.empty()) streams_.out(bytes);
    if (channel == kStderr && streams_.err && !bytes.empty()) streams_.err(bytes);
    if (channel == kStatus && !bytes.empty()) status_ = status_.value_or("") + std::string(bytes);
    return {};
  }

  void tell_size() {
    if (!streams_.size) return;
    const auto size = streams_.size();
    socket_.send(fmt::format(R"({}{{"Width":{},"Height":{}}})", kResize, size.columns, size.rows));
  }

  /// Absent descriptors are -1, which poll passes over.
  Result<> wait(http::Deadline deadline) {
    std::vector<pollfd> others{
        {.fd = wants_input() ? streams_.in : -1, .events = POLLIN, .revents = 0},
        {.fd = streams_.resized, .events = POLLIN, .revents = 0}};
    TRY_VOID(socket_.wait(others, stop_, deadline));
    is_readable_ = others[0].revents != 0;
    if (others[1].revents != 0) tell_size();
    return {};
  }

  WebSocket socket_;
  const ExecStreams& streams_;
  const http::Stop& stop_;
  bool has_input_ = false;
  bool is_readable_ = false;
  std::optional<std::string> status_;
};

}  // namespace

ApiResult<int> exec_outcome(std::string_view status) {
  auto parsed = parse_json(status);
  if (!parsed || !parsed->is_object())
    return tl::unexpected(ApiError(
        fail(Kind::corrupt, "the cluster's last word about the command is no JSON").value()));
  const auto& object = parsed->get_object();
  if (text_at(object, "status") == "Success") return 0;
  auto error = api_error(object);
  for (const auto& cause : error.causes) {
    if (cause.reason != "ExitCode") continue;
    int code = 0;
    const auto* end = cause.message.data() + cause.message.size();
    const auto read = std::from_chars(cause.message.data(), end, code);
    if (read.ec == std::errc() && read.ptr == end) return code;
  }
  return tl::unexpected(std::move(error));
}

ApiResult<int> exec(Cluster& cluster, const ExecRequest& request, const ExecStreams& streams,
                    const http::Stop& stop) {
  const bool has_input = streams.in >= 0 || streams.source;
  auto socket = WebSocket::open(cluster, call_of(request, has_input), {std::string(kV5)}, stop);
  if (!socket) {
    socket.error().where = fmt::format("running a command in {}/{}", request.space, request.pod);
    return tl::unexpected(socket.error());
  }
  return Session(std::move(*socket), streams, stop).run();
}

}  // namespace muster::kube
