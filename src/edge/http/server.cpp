#include "edge/http/server.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <map>
#include <unordered_map>

#include "edge/http/error_body.hpp"
#include "edge/http/listener.hpp"
#include "edge/http/session.hpp"
#include "edge/http/tcp_listener.hpp"

namespace muster::http {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::steady_clock;

constexpr int kAcceptsAtOnce = 64;  // then the others get their turn
constexpr auto kOutOfDescriptors = std::chrono::milliseconds(100);
constexpr std::size_t kScratch = 64 * 1024;
constexpr std::uint32_t kNobody = UINT32_MAX;  // who comes over a network

/// A few words to somebody who is not let in. Best effort: the peer may not even listen.
void turn_away(int fd, const Error& error) {
  const auto response = error_response(error);
  auto text = head_text({.status = response.status,
                         .content_type = response.content_type,
                         .length = response.body.size(),
                         .is_last = true});
  text += response.body;
  [[maybe_unused]] const auto sent =
      ::send(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

Result<Peer> peer_of(int fd) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
    return fail_errno("cannot tell who connects", errno);
  return Peer{.uid = credentials.uid, .pid = credentials.pid};
}

Duration sweep_interval(const ServerOptions& options) {
  const auto shortest =
      std::min({options.header_timeout, options.body_timeout, options.keep_alive_timeout,
                options.write_timeout, options.linger});
  return std::clamp<Duration>(shortest / 4, std::chrono::milliseconds(10), std::chrono::seconds(1));
}

}  // namespace

struct Server::Loop {
  Loop(ServerOptions given, std::optional<Listener> bound, UniqueFd socket, OnRequest on_request)
      : options(std::move(given)),
        listener(std::move(bound)),
        host{.loop = context,
             .options = options,
             .on_request = std::move(on_request),
             .gate = std::make_shared<Gate>(context),
             .scratch = std::vector<char>(kScratch),
             .last_activity = steady_clock::now(),
             .on_ended = [this](Session& session) { forget(session); }},
        work(context.get_executor()),
        acceptor(context, socket.release()),
        sweeper(context),
        pause(context) {}

  void accept_later();
  void accept_some();
  void admit(UniqueFd socket);
  bool make_room();
  void sweep_later();
  void forget(Session& session);
  void begin_stop();
  void finish_stop();

  asio::io_context context{1};
  ServerOptions options;
  std::optional<Listener> listener;  // of a unix socket: removes its file
  SessionHost host;
  asio::executor_work_guard<asio::io_context::executor_type> work;
  asio::posix::stream_descriptor acceptor;
  asio::steady_timer sweeper;
  asio::steady_timer pause;
  std::map<std::uint64_t, asio::steady_timer> timers;
  std::uint64_t last_timer = 0;
  std::unordered_map<Session*, std::shared_ptr<Session>> sessions;
  std::atomic<std::size_t> count = 0;
  bool is_sweeping = false;
  bool is_stopping = false;
};

void Server::Loop::accept_later() {
  acceptor.async_wait(asio::posix::stream_descriptor::wait_read, [this](const error_code& error) {
    if (!error && !is_stopping) accept_some();
  });
}

void Server::Loop::accept_some() {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    UniqueFd socket(
        ::accept4(acceptor.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) {
      admit(std::move(socket));
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN) break;
    // Out of descriptors: the longest silent peer gives one back, else we wait, not spin.
    if (make_room()) continue;
    pause.expires_after(kOutOfDescriptors);
    pause.async_wait([this](const error_code& error) {
      if (!error && !is_stopping) accept_some();
    });
    return;
  }
  accept_later();
}

void Server::Loop::admit(UniqueFd socket) {
  const auto peer = options.tcp ? Result<Peer>(Peer{.uid = kNobody}) : peer_of(socket.get());
  if (!peer) return;
  if (!options.tcp && peer->uid != ::geteuid() && peer->uid != 0)
    return turn_away(socket.get(), {.kind = Kind::denied,
                                    .what = "this server serves its own user only",
                                    .where = {},
                                    .why = fmt::format("you are uid {}", peer->uid),
                                    .fix = {"start your own: muster serve"}});
  if (sessions.size() >= options.max_connections && !make_room())
    return turn_away(socket.get(),
                     {.kind = Kind::unavailable,
                      .what = fmt::format("the server has {} busy connections", sessions.size()),
                      .where = {},
                      .why = {},
                      .fix = {"try again in a moment"}});
  auto session = make_session(host, std::move(socket), *peer);
  sessions.emplace(session.get(), session);
  count = sessions.size();
  session->start();
  sweep_later();
}

bool Server::Loop::make_room() {
  Session* oldest = nullptr;
  for (const auto& [session, owner] : sessions)
    if (session->is_silent() && (oldest == nullptr || session->since() < oldest->since()))
      oldest = session;
  if (oldest == nullptr) return false;
  oldest->end();
  return true;
}

void Server::Loop::sweep_later() {
  if (is_sweeping || sessions.empty() || is_stopping) return;
  is_sweeping = true;
  sweeper.expires_after(sweep_interval(options));
  sweeper.async_wait([this](const error_code& error) {
    is_sweeping = false;
    if (error) return;
    std::vector<std::shared_ptr<Session>> all;  // sweeping ends some of them
    for (const auto& [session, owner] : sessions) all.push_back(owner);
    for (const auto& session : all) session->sweep(steady_clock::now());
    sweep_later();
  });
}

void Server::Loop::forget(Session& session) {
  sessions.erase(&session);
  count = sessions.size();
  if (is_stopping && sessions.empty()) finish_stop();
}

void Server::Loop::begin_stop() {
  if (is_stopping) return;
  is_stopping = true;
  error_code ignored;
  acceptor.close(ignored);
  std::vector<std::shared_ptr<Session>> all;
  for (const auto& [session, owner] : sessions) all.push_back(owner);
  for (const auto& session : all) session->stop();
  if (sessions.empty()) return finish_stop();
  pause.expires_after(options.stop_grace);
  pause.async_wait([this](const error_code& error) {
    if (error) return;
    const auto left = sessions;
    for (const auto& [session, owner] : left) session->end();
  });
}

/// The loop runs dry: what was posted before is still done, nothing new comes in.
void Server::Loop::finish_stop() {
  host.gate->shut();
  sweeper.cancel();
  pause.cancel();
  timers.clear();
  work.reset();
}

Server::Server(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}

Server::~Server() {
  // A server that never ran, or was not stopped: the same order of events, without the loop.
  loop_->host.gate->shut();
  loop_->is_stopping = true;
  const auto left = loop_->sessions;
  for (const auto& [session, owner] : left) session->end();
}

Result<std::unique_ptr<Server>> Server::listen(ServerOptions options, OnRequest on_request) {
  std::optional<Listener> listener;
  UniqueFd socket;
  if (options.tcp) {
    TRY(socket, within(listen_tcp(*options.tcp), "starting the server"));
  } else {
    TRY(listener, within(Listener::open(options.socket_path), "starting the server"));
    socket = listener->take_socket();
  }
  auto loop = std::make_unique<Loop>(std::move(options), std::move(listener), std::move(socket),
                                     std::move(on_request));
  return std::unique_ptr<Server>(new Server(std::move(loop)));
}

void Server::run() {
  loop_->accept_later();
  loop_->context.run();
}

void Server::stop() {
  loop_->host.gate->post([loop = loop_.get()] { loop->begin_stop(); });
}

void Server::post(std::function<void()> work) { loop_->host.gate->post(std::move(work)); }

void Server::after(Duration delay, std::function<void()> work) {
  const auto at = steady_clock::now() + delay;
  post([loop = loop_.get(), at, work = std::move(work)]() mutable {
    if (loop->is_stopping) return;
    const auto id = ++loop->last_timer;
    auto& timer = loop->timers.try_emplace(id, loop->context, at).first->second;
    timer.async_wait([loop, id, work = std::move(work)](const error_code& error) {
      if (error) return;
      loop->timers.erase(id);
      work();
    });
  });
}

int Server::port() const { return port_of(loop_->acceptor.native_handle()); }

std::size_t Server::connections() const { return loop_->count; }

steady_clock::time_point Server::last_activity() const { return loop_->host.last_activity; }

}  // namespace muster::http
