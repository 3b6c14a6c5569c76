#include "edge/http/client.hpp"

#include <sys/socket.h>

#include <cerrno>

#include "edge/http/address.hpp"
#include "edge/http/reader.hpp"

namespace muster::http {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kScratch = 64 * 1024;
constexpr std::size_t kWholeAnswer = 1024UL * 1024 * 1024;
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

tl::unexpected<Error> cannot_connect(const std::string& path, int error_number) {
  auto failed = fail_errno(fmt::format("cannot connect to {}", path), error_number);
  if (failed.value().kind == Kind::denied)
    failed.value().fix.emplace_back(
        "a home is one person's: set MUSTER_HOME to a folder of your own");
  return failed;
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
    if (errno != EAGAIN) return cannot_connect(path, errno);
    // The queue of the listening socket is full. Unix sockets offer nothing to wait on for that.
    if (steady_clock::now() >= deadline) return unavailable(path, "its queue stays full");
    TRY_VOID(wait_for(-1, 0, stop, std::min(deadline, steady_clock::now() + pause)));
    pause = std::min(pause * 2, std::chrono::milliseconds(50));
  }
}

bool is_one_line(std::string_view text) {
  for (const char c : text)
    if ((c >= 0 && c < ' ') || c == 0x7f) return false;
  return true;
}

}  // namespace

std::string request_text(const ClientRequest& request, std::string_view host) {
  std::string text =
      fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", request.method, request.target, host);
  for (const auto& [name, value] : request.headers) text += fmt::format("{}: {}\r\n", name, value);
  if (!request.body.empty()) text += fmt::format("Content-Type: {}\r\n", request.content_type);
  if (!request.body.empty() || request.method != "GET")
    text += fmt::format("Content-Length: {}\r\n", request.body.size());
  return text += "\r\n";
}

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

Connection::Connection(std::unique_ptr<Channel> channel, Peer peer, Duration timeout, Stop stop)
    : channel_(std::move(channel)),
      peer_(std::move(peer)),
      waiting_{.stop = stop, .silence = timeout},
      scratch_(kScratch, '\0') {}

Result<Connection> Connection::open(const std::string& socket_path, Duration timeout, Stop stop) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail_errno("cannot make a socket", errno);
  TRY_VOID(connect_to(fd.get(), socket_path, timeout, stop));
  return Connection(socket_channel(std::move(fd)),
                    {.name = socket_path, .fix = "look at it: muster doctor"}, timeout, stop);
}

Error Connection::named(Error error) const {
  error.where = error.where.empty() ? peer_.name : fmt::format("{}: {}", peer_.name, error.where);
  if (error.kind == Kind::unavailable && error.fix.empty() && !peer_.fix.empty())
    error.fix.push_back(peer_.fix);
  return error;
}

Result<ClientResponse> Connection::exchange(const ClientRequest& request,
                                            const Streaming* streaming) {
  TRY_VOID(checked(request));
  auto head = request_text(request, peer_.host);
  const bool is_small = request.body.size() <= kScratch;
  if (is_small) head += request.body;
  auto sent = write(*channel_, head, waiting_);
  if (sent && !is_small) sent = write(*channel_, request.body, waiting_);
  // A server that refuses a request in the middle has already said why.
  if (!sent && sent.error().kind != Kind::unavailable) return tl::unexpected(sent.error());

  const auto rule = request.method == "HEAD" ? BodyRule::absent : BodyRule::present;
  ResponseReader reader({.body = kWholeAnswer}, rule);
  auto waiting = waiting_;
  while (!reader.is_complete()) {
    TRY(const auto count, read(*channel_, scratch_, waiting));
    if (count == 0 && !sent && !reader.has_head()) return tl::unexpected(sent.error());
    TRY_VOID(count == 0 ? reader.finish() : reader.feed({scratch_.data(), count}));
    if (streaming == nullptr || !reader.has_head() || reader.status() / 100 != 2) continue;
    waiting.silence = streaming->silence;
    const auto chunk = reader.take_body();
    if (!chunk.empty() && !streaming->on_chunk(chunk)) break;
  }
  is_spent_ = !sent || !reader.is_reusable();
  return ClientResponse{
      .status = reader.status(), .headers = reader.headers(), .body = reader.take_body()};
}

Result<ClientResponse> Connection::once(const ClientRequest& request, const Streaming* streaming) {
  if (is_spent_)
    return fail(Kind::unavailable, fmt::format("the connection to {} is used up", peer_.name),
                "open a new one");
  is_spent_ = true;  // until the answer has been read whole
  return exchange(request, streaming).map_error([this](Error error) { return named(error); });
}

Result<ClientResponse> Connection::call(const ClientRequest& request) {
  return once(request, nullptr);
}

Result<ClientResponse> Connection::stream(const ClientRequest& request, const OnChunk& on_chunk,
                                          Duration silence) {
  const Streaming streaming{.on_chunk = on_chunk, .silence = silence};
  return once(request, &streaming);
}

bool Connection::is_usable() const { return !is_spent_ && channel_->is_quiet(); }

}  // namespace muster::http
