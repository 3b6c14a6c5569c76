#include "edge/kube/port_forward.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "base/text.hpp"
#include "edge/kube/websocket.hpp"

namespace muster::kube {
namespace {

constexpr std::string_view kV4 = "v4.channel.k8s.io";
constexpr char kData = 0;
constexpr char kError = 1;
constexpr std::size_t kPiece = 32 * 1024;
constexpr std::size_t kRoom = 256 * 1024;  // on its way, in either direction
constexpr auto kAfterLocalEnd = std::chrono::seconds(10);
constexpr auto kFarewell = std::chrono::seconds(1);

class Carrying {
 public:
  Carrying(WebSocket socket, UniqueFd local, const http::Stop& stop)
      : socket_(std::move(socket)), local_(std::move(local)), stop_(stop) {}

  ApiResult<> run() {
    const WebSocket::OnMessage on_message = [&](std::string_view bytes) { return take(bytes); };
    for (;;) {
      read_local();
      bool is_open = true;
      // A local side that does not read is waited for, and so is the pod.
      if (to_local_.size() < kRoom) {
        API_TRY(is_open, socket_.move(on_message));
      }
      write_local();
      if (!trouble_.empty()) return failed();
      if (is_local_gone_ || (!is_open && to_local_.empty())) break;
      API_TRY(const bool is_moving, wait(is_open));
      if (!is_moving && has_local_ended_) break;
    }
    socket_.close(kFarewell);
    return {};
  }

 private:
  ApiResult<> failed() const {
    auto error = fail(Kind::unavailable, "the pod does not take the connection",
                      "does the job listen on that port?");
    error.value().why = printable(trimmed(trouble_));
    return tl::unexpected(ApiError(error.value()));
  }

  /// Each channel begins with the port as two bytes.
  Result<> take(std::string_view bytes) {
    if (bytes.empty()) return {};
    const char channel = bytes.front();
    bytes.remove_prefix(1);
    if (channel != kData && channel != kError) return {};
    auto& left = prefix_[static_cast<std::size_t>(channel)];
    const auto skipped = std::min(left, bytes.size());
    left -= skipped;
    bytes.remove_prefix(skipped);
    (channel == kData ? to_local_ : trouble_) += bytes;
    return {};
  }

  void read_local() {
    while (!has_local_ended_ && socket_.queued() < kRoom) {
      std::array<char, kPiece + 1> piece;
      piece[0] = kData;
      const auto count = ::recv(local_.get(), piece.data() + 1, kPiece, MSG_DONTWAIT);
      if (count > 0) {
        socket_.send({piece.data(), static_cast<std::size_t>(count) + 1});
      } else if (count == 0) {
        has_local_ended_ = true;
      } else if (errno != EINTR) {
        is_local_gone_ = errno != EAGAIN;
        return;
      }
    }
  }

  void write_local() {
    while (!to_local_.empty()) {
      const auto count =
          ::send(local_.get(), to_local_.data(), to_local_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count > 0) {
        to_local_.erase(0, static_cast<std::size_t>(count));
      } else if (errno != EINTR) {
        is_local_gone_ = is_local_gone_ || errno != EAGAIN;
        return;
      }
    }
  }

  Result<bool> wait(bool is_open) {
    short events = 0;
    if (!has_local_ended_ && socket_.queued() < kRoom) events |= POLLIN;
    if (!to_local_.empty()) events |= POLLOUT;
    std::vector<pollfd> others{{.fd = events != 0 ? local_.get() : -1, .events = events}};
    const auto deadline = has_local_ended_ ? http::after(kAfterLocalEnd) : http::Deadline::max();
    if (!is_open || to_local_.size() >= kRoom) return http::wait_any(others, stop_, deadline);
    return socket_.wait(others, stop_, deadline);
  }

  WebSocket socket_;
  UniqueFd local_;
  const http::Stop& stop_;
  std::string to_local_;
  std::string trouble_;
  std::array<std::size_t, 2> prefix_{2, 2};
  bool has_local_ended_ = false;
  bool is_local_gone_ = false;
};

}  // namespace

ApiResult<> carry(Cluster& cluster, const PodPort& to, UniqueFd local, const http::Stop& stop) {
  const Call call{.path = path_of(ObjectRef{pods(), to.space, to.pod, "portforward"}),
                  .query = {{"ports", std::to_string(to.port)}}};
  API_TRY(auto socket, WebSocket::open(cluster, call, {std::string(kV4)}, stop));
  return Carrying(std::move(socket), std::move(local), stop).run();
}

}  // namespace muster::kube
