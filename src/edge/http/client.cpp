#include "edge/http/client.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <limits>

#include "edge/http/address.hpp"
#include "edge/http/reader.hpp"

namespace muster::http {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kScratch = 64 * 1024;
constexpr std::size_t kWholeAnswer = 1024UL * 1024 * 1024;
constexpr auto kFlagLook = std::chrono::milliseconds(250);

Result<> cancelled() { return fail(Kind::cancelled, "broken off while talking to the server"); }

bool is_set(const Stop& stop) { return stop.flag != nullptr && stop.flag->load(); }

/// Waits for `events` on `fd` (none with -1), the stop, or the deadline; false at the deadline.
Result<bool> wait_for(int fd, short events, const Stop& stop, steady_clock::time_point deadline) {
  for (;;) {
    if (is_set(stop)) TRY_VOID(cancelled());
    const auto now = steady_clock::now();
    auto left = deadline - now;
    if (left < left.zero()) left = left.zero();
    if (stop.flag != nullptr && left > kFlagLook) left = kFlagLook;
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    std::array<pollfd, 2> watched{pollfd{fd, events, 0}, pollfd{stop.fd, POLLIN, 0}};
    const int count = ::poll(watched.data(), watched.size(),
                             static_cast<int>(std::min<std::int64_t>(ms, 1'000'000)));
    if (count < 0 && errno != EINTR) return fail_errno("cannot wait for the server", errno);
    if (count > 0 && watched[1].revents != 0) TRY_VOID(cancelled());
    if (count > 0) return true;
    if (count == 0 && steady_clock::now() >= deadline) return false;
  }
}

tl::unexpected<Error> unavailable(const std::string& path, std::string why) {
  auto failed = fail(Kind::unavailable, fmt::format("no server answers at {}", path),
                     "start one: muster serve");
  failed.value().why = std::move(why);
  return failed;
}

/// The address, and the folder's descriptor that it may lean on.
Result<sockaddr_un> address_of(const std::string& path, UniqueFd& folder) {
  sockaddr_un address;
  if (fill(address, path)) return address;
  const auto parts = split_path(path);
  auto opened = open_folder(parts.folder);
  if (!opened) return unavailable(path, opened.error().why);
  folder = std::move(*opened);
  return address_in(folder.get(), parts.name);
}

Result<> connect_to(int fd, const std::string& path, Duration timeout, const Stop& stop) {
  UniqueFd folder;
  TRY(const auto address, address_of(path, folder));
  const auto deadline = steady_clock::now() + timeout;
  auto pause = std::chrono::milliseconds(1);
  for (;;) {
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return {};
    if (errno == ECONNREFUSED) return unavailable(path, "its last server is gone");
    if (errno == ENOENT || errno == ENOTDIR) return unavailable(path, "there is no socket");
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return fail_errno(fmt::format("cannot connect to {}", path), errno);
    // The queue of the listening socket is full. Unix sockets offer nothing to wait on for that.
    if (steady_clock::now() >= deadline) return unavailable(path, "its queue stays full");
    TRY_VOID(wait_for(-1, 0, stop, std::min(deadline, steady_clock::now() + pause)));
    pause = std::min(pause * 2, std::chrono::milliseconds(50));
  }
}

std::string request_text(const ClientRequest& request) {
  std::string text =
      fmt::format("{} {} HTTP/1.1\r\nHost: muster\r\n", request.method, request.target);
  for (const auto& [name, value] : request.headers) text += fmt::format("{}: {}\r\n", name, value);
  if (!request.body.empty()) text += fmt::format("Content-Type: {}\r\n", request.content_type);
  if (!request.body.empty() || request.method != "GET")
    text += fmt::format("Content-Length: {}\r\n", request.body.size());
  return text += "\r\n";
}

bool is_one_line(std::string_view text) {
  for (const char c : text)
    if ((c >= 0 && c < ' ') || c == 0x7f) return false;
  return true;
}

/// A request that would not arrive as it was meant is the caller's mistake.
Result<> checked(const ClientRequest& request) {
  bool is_fine = is_one_line(request.method) && is_one_line(request.content_type) &&
                 is_one_line(request.target) && request.target.starts_with('/') &&
                 request.target.find(' ') == std::string::npos;
  for (const auto& [name, value] : request.headers)
    is_fine = is_fine && is_one_line(name) && is_one_line(value);
  if (!is_fine)
    return fail(Kind::usage, "the request's target or headers cannot be sent", "encode them");
  return {};
}

}  // namespace

Connection::Connection(UniqueFd socket, std::string path, Duration timeout, Stop stop)
    : socket_(std::move(socket)),
      path_(std::move(path)),
      timeout_(timeout),
      stop_(stop),
      scratch_(kScratch, '\0') {}

Result<Connection> Connection::open(const std::string& socket_path, Duration timeout, Stop stop) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail_errno("cannot make a socket", errno);
  TRY_VOID(connect_to(fd.get(), socket_path, timeout, stop));
  return Connection(std::move(fd), socket_path, timeout, stop);
}

Error Connection::named(Error error) const {
  error.where = error.where.empty() ? path_ : fmt::format("{}: {}", path_, error.where);
  return error;
}

Result<> Connection::wait(short events, Patience patience) const {
  const auto deadline =
      patience == Patience::endless ? Deadline::max() : steady_clock::now() + timeout_;
  TRY(const bool is_ready, wait_for(socket_.get(), events, stop_, deadline));
  if (is_ready) return {};
  return fail(Kind::unavailable, fmt::format("the server was silent for {}", to_text(timeout_)),
              "look at it: muster doctor");
}

Result<> Connection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count =
        ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      TRY_VOID(wait(POLLOUT, Patience::bounded));
    } else if (errno != EINTR) {
      return fail_errno("the server closed the connection before it had the request", errno);
    }
  }
  return {};
}

Result<std::size_t> Connection::receive(Patience patience) {
  for (;;) {
    const auto count = ::recv(socket_.get(), scratch_.data(), scratch_.size(), MSG_DONTWAIT);
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno == EAGAIN) {
      TRY_VOID(wait(POLLIN, patience));
    } else if (errno == ECONNRESET) {
      return 0;  // closed, like an end of file
    } else if (errno != EINTR) {
      return fail_errno("cannot read the answer", errno);
    }
  }
}

Result<ClientResponse> Connection::exchange(const ClientRequest& request, const OnChunk* on_chunk) {
  TRY_VOID(checked(request));
  auto head = request_text(request);
  const bool is_small = request.body.size() <= kScratch;
  if (is_small) head += request.body;
  auto sent = send(head);
  if (sent && !is_small) sent = send(request.body);
  // A server that refuses a request in the middle has already said why.
  if (!sent && sent.error().kind != Kind::unavailable) return tl::unexpected(sent.error());

  const auto rule = request.method == "HEAD" ? BodyRule::absent : BodyRule::present;
  ResponseReader reader({.body = kWholeAnswer}, rule);
  bool is_streaming = false;
  while (!reader.is_complete()) {
    TRY(const auto count, receive(is_streaming ? Patience::endless : Patience::bounded));
    if (count == 0 && !sent && !reader.has_head()) return tl::unexpected(sent.error());
    TRY_VOID(count == 0 ? reader.finish() : reader.feed({scratch_.data(), count}));
    is_streaming = on_chunk != nullptr && reader.has_head() && reader.status() / 100 == 2;
    if (!is_streaming) continue;
    const auto chunk = reader.take_body();
    if (!chunk.empty() && !(*on_chunk)(chunk)) break;
  }
  is_spent_ = !sent || !reader.is_reusable();
  return ClientResponse{
      .status = reader.status(), .headers = reader.headers(), .body = reader.take_body()};
}

Result<ClientResponse> Connection::call(const ClientRequest& request) {
  if (is_spent_)
    return fail(Kind::unavailable, fmt::format("the connection to {} is used up", path_),
                "open a new one");
  is_spent_ = true;  // until the answer has been read whole
  return exchange(request, nullptr).map_error([this](Error error) { return named(error); });
}

Result<ClientResponse> Connection::stream(const ClientRequest& request, const OnChunk& on_chunk) {
  if (is_spent_)
    return fail(Kind::unavailable, fmt::format("the connection to {} is used up", path_),
                "open a new one");
  is_spent_ = true;
  return exchange(request, &on_chunk).map_error([this](Error error) { return named(error); });
}

bool Connection::is_usable() const {
  if (is_spent_ || !socket_) return false;
  pollfd probe{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  return ::poll(&probe, 1, 0) == 0;
}

}  // namespace muster::http
