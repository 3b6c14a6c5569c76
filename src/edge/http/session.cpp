#include "edge/http/session.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <deque>

#include "edge/http/error_body.hpp"
#include "edge/http/flow.hpp"
#include "edge/http/reader.hpp"

namespace muster::http {
namespace {

namespace asio = boost::asio;
using asio::posix::stream_descriptor;

constexpr std::size_t kReadAhead = 64 * 1024;  // of later requests, while one is being served
constexpr std::size_t kGather = 16;            // pieces in one system call

/// The bytes an answer has still to send.
class Outbox {
 public:
  void add(std::string bytes) {
    if (!bytes.empty()) pieces_.push_back(std::move(bytes));
  }
  bool empty() const { return pieces_.empty(); }

  enum class Sent { all, some, broken };
  /// Gives the kernel what it takes now; `progress` says whether that was anything.
  Sent send(int fd, bool& progress) {
    while (!pieces_.empty()) {
      std::array<iovec, kGather> parts;
      msghdr message{};
      message.msg_iov = parts.data();
      message.msg_iovlen = fill(parts);
      const auto count = ::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return errno == EAGAIN || errno == ENOBUFS ? Sent::some : Sent::broken;
      progress = true;
      advance(static_cast<std::size_t>(count));
    }
    return Sent::all;
  }

 private:
  std::size_t fill(std::array<iovec, kGather>& parts) {
    std::size_t used = 0;
    for (auto& piece : pieces_) {
      if (used == parts.size()) break;
      const std::size_t skip = used == 0 ? offset_ : 0;
      parts[used++] = {piece.data() + skip, piece.size() - skip};
    }
    return used;
  }
  void advance(std::size_t count) {
    offset_ += count;
    while (!pieces_.empty() && offset_ >= pieces_.front().size()) {
      offset_ -= pieces_.front().size();
      pieces_.pop_front();
    }
  }

  std::deque<std::string> pieces_;
  std::size_t offset_ = 0;  // of the first piece, already sent
};

class OpenSession final : public Session,
                          public Answering,
                          public std::enable_shared_from_this<OpenSession> {
 public:
  OpenSession(SessionHost& host, UniqueFd socket, Peer peer)
      : host_(host),
        peer_(peer),
        fd_(socket.release()),
        socket_(host.loop),
        reader_(host.options.limits),
        since_(std::chrono::steady_clock::now()) {}

  ~OpenSession() override {
    if (!socket_.is_open() && phase_ != Phase::ended) ::close(fd_);  // was never started
  }

  void start() override {
    boost::system::error_code error;
    socket_.assign(fd_, error);
    if (error) return end();
    want_read();
  }
  void sweep(TimePoint now) override;
  void stop() override;
  void end() override;
  bool is_silent() const override {
    return phase_ == Phase::reading && reader_.progress() == RequestReader::Progress::nothing;
  }
  TimePoint since() const override { return since_; }

  void answer(std::uint64_t turn, Response response) override;
  void begin_stream(std::uint64_t turn, int status, std::string content_type,
                    std::shared_ptr<Flow> flow) override;
  void pump(std::uint64_t turn) override;

 private:
  enum class Phase {
    reading,    // a request, or waiting for one
    serving,    // somebody works on the answer
    streaming,  // the answer is under way and not all here
    sending,    // the answer is all here
    lingering,  // nothing more to say; the peer may finish talking
    ended,
  };

  void enter(Phase phase) {
    phase_ = phase;
    since_ = std::chrono::steady_clock::now();
  }
  void want_read();
  void want_write();
  void on_readable();
  void on_silence_of_peer();
  void read_requests();
  void serve(Incoming incoming);
  void refuse(const Refusal& refusal);
  void flush();
  void on_flushed();
  void finish_answer();
  void linger();
  bool is_current(std::uint64_t turn, Phase phase) const {
    return turn_ == turn && phase_ == phase;
  }

  SessionHost& host_;
  Peer peer_;
  int fd_;
  stream_descriptor socket_;
  RequestReader reader_;
  Outbox outbox_;
  Phase phase_ = Phase::reading;
  TimePoint since_;             // the phase began, or the last byte moved in it
  std::uint64_t turn_ = 0;      // fences late answers off
  std::shared_ptr<Flow> flow_;  // shared with the producer's Stream
  bool is_reading_ = false;
  bool is_writing_ = false;
  bool is_first_ = true;
  bool is_peer_done_ = false;  // it will send no more, but may still read
  bool is_head_ = false;
  bool is_http10_ = false;
  bool closes_after_ = false;
  bool is_stopping_ = false;
};

void OpenSession::want_read() {
  if (is_reading_ || is_peer_done_ || phase_ == Phase::ended) return;
  if (phase_ != Phase::reading && phase_ != Phase::lingering && reader_.buffered() >= kReadAhead)
    return;
  is_reading_ = true;
  socket_.async_wait(stream_descriptor::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->is_reading_ = false;
                       if (!error && self->phase_ != Phase::ended) self->on_readable();
                     });
}

void OpenSession::want_write() {
  if (is_writing_ || phase_ == Phase::ended) return;
  is_writing_ = true;
  socket_.async_wait(stream_descriptor::wait_write,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->is_writing_ = false;
                       if (error || self->phase_ == Phase::ended) return;
                       self->flush();
                       // What was written meanwhile had to wait for this.
                       self->pump(self->turn_);
                     });
}

void OpenSession::on_readable() {
  auto& scratch = host_.scratch;
  const auto count = ::recv(fd_, scratch.data(), scratch.size(), MSG_DONTWAIT);
  if (count < 0 && errno != EAGAIN && errno != EINTR) return end();
  if (count == 0) return on_silence_of_peer();
  if (count > 0 && phase_ != Phase::lingering) {
    // A header has one deadline from its first byte; a body must only keep moving.
    if (phase_ == Phase::reading && reader_.progress() != RequestReader::Progress::header)
      since_ = std::chrono::steady_clock::now();
    reader_.append({scratch.data(), static_cast<std::size_t>(count)});
    if (phase_ == Phase::reading) read_requests();
  }
  want_read();
}

void OpenSession::on_silence_of_peer() {
  is_peer_done_ = true;
  // A peer that only ended its sending still wants its answers; one that closed does not.
  pollfd probe{.fd = fd_, .events = 0, .revents = 0};
  const bool is_gone = ::poll(&probe, 1, 0) == 1 && (probe.revents & (POLLHUP | POLLERR)) != 0;
  if (is_gone || phase_ == Phase::lingering) return end();
  if (phase_ == Phase::reading) read_requests();
}

void OpenSession::read_requests() {
  auto incoming = reader_.next();
  if (!incoming) return refuse(incoming.error());
  if (*incoming) return serve(std::move(**incoming));
  if (reader_.take_continue()) {
    outbox_.add("HTTP/1.1 100 Continue\r\n\r\n");
    flush();
  }
  if (!is_peer_done_ || phase_ == Phase::ended) return;
  if (is_silent()) return end();
  refuse({400, Error{.kind = Kind::usage,
                     .what = "the request ends in the middle",
                     .where = {},
                     .why = {},
                     .fix = {"send all of it before closing"}}});
}

void OpenSession::serve(Incoming incoming) {
  enter(Phase::serving);
  is_first_ = false;
  is_head_ = incoming.request.method == "HEAD";
  is_http10_ = incoming.is_http10;
  closes_after_ = is_http10_ || !incoming.keep_alive;
  host_.last_activity = since_;
  incoming.request.peer_uid = peer_.uid;
  incoming.request.peer_pid = peer_.pid;
  host_.on_request(
      make_exchange(std::move(incoming.request), ++turn_, weak_from_this(), host_.gate));
}

void OpenSession::refuse(const Refusal& refusal) {
  enter(Phase::serving);
  is_head_ = false;
  closes_after_ = true;
  answer(++turn_, error_response(refusal.error, refusal.status));
}

void OpenSession::answer(std::uint64_t turn, Response response) {
  if (!is_current(turn, Phase::serving)) return;
  enter(Phase::sending);
  host_.last_activity = since_;
  auto bytes = head_text({.status = response.status,
                          .content_type = response.content_type,
                          .headers = &response.headers,
                          .framing = Framing::length,
                          .length = response.body.size(),
                          .is_last = closes_after_});
  const bool has_body = !is_head_ && response.status != 204;
  // Small answers leave in one piece; large ones are not copied.
  if (has_body && response.body.size() <= kReadAhead) bytes += response.body;
  const bool is_apart = has_body && response.body.size() > kReadAhead;
  outbox_.add(std::move(bytes));
  if (is_apart) outbox_.add(std::move(response.body));
  flush();
}

void OpenSession::begin_stream(std::uint64_t turn, int status, std::string content_type,
                               std::shared_ptr<Flow> flow) {
  if (!is_current(turn, Phase::serving)) return;
  outbox_.add(head_text({.status = status,
                         .content_type = content_type,
                         .framing = is_http10_ ? Framing::until_close : Framing::chunked,
                         .is_last = closes_after_}));
  if (is_head_) {
    enter(Phase::sending);  // the flow breaks off here: nobody wants its bytes
    return flush();
  }
  enter(Phase::streaming);
  flow_ = std::move(flow);
  pump(turn);
}

void OpenSession::pump(std::uint64_t turn) {
  // While the peer is slow the bytes stay where the producer counts them.
  if (!is_current(turn, Phase::streaming) || is_writing_) return;
  auto taken = flow_->take();
  if (taken.is_dropped) return end();
  if (!taken.bytes.empty()) {
    if (!is_http10_) outbox_.add(fmt::format("{:x}\r\n", taken.bytes.size()));
    outbox_.add(std::move(taken.bytes));
    if (!is_http10_) outbox_.add("\r\n");
  }
  if (taken.is_last) {
    if (!is_http10_) outbox_.add("0\r\n\r\n");
    enter(Phase::sending);
  }
  flush();
}

void OpenSession::flush() {
  bool is_moving = false;
  const auto sent = outbox_.send(fd_, is_moving);
  if (sent == Outbox::Sent::broken) return end();
  if (is_moving && phase_ != Phase::reading) since_ = std::chrono::steady_clock::now();
  if (sent == Outbox::Sent::some) return want_write();
  on_flushed();
}

void OpenSession::on_flushed() {
  if (flow_)
    if (const auto drained = flow_->sent()) drained();
  if (phase_ == Phase::sending) finish_answer();
}

void OpenSession::finish_answer() {
  flow_.reset();
  host_.last_activity = std::chrono::steady_clock::now();
  if (is_stopping_) return end();
  if (closes_after_) return linger();
  enter(Phase::reading);
  read_requests();
  want_read();
}

void OpenSession::linger() {
  // Closing at once would throw away an answer that the peer has not read while it still talks.
  enter(Phase::lingering);
  ::shutdown(fd_, SHUT_WR);
  if (is_peer_done_) return end();
  want_read();
}

void OpenSession::sweep(TimePoint now) {
  const auto& options = host_.options;
  const auto waited = now - since_;
  if (phase_ == Phase::lingering && waited > options.linger) return end();
  if (phase_ == Phase::sending && waited > options.write_timeout) return end();
  if (phase_ != Phase::reading) return;
  const auto progress = reader_.progress();
  if (progress == RequestReader::Progress::nothing) {
    if (waited > (is_first_ ? options.header_timeout : options.keep_alive_timeout)) end();
    return;
  }
  const bool in_header = progress == RequestReader::Progress::header;
  if (waited <= (in_header ? options.header_timeout : options.body_timeout)) return;
  refuse({408, Error{.kind = Kind::usage,
                     .what = "the request came too slowly",
                     .where = {},
                     .why = in_header ? "its header was not complete in time"
                                      : "nothing of its body came for too long",
                     .fix = {"send the request at once"}}});
}

void OpenSession::stop() {
  if (is_stopping_) return;
  is_stopping_ = true;
  closes_after_ = true;
  if (phase_ == Phase::serving) {
    return answer(turn_, error_response({.kind = Kind::unavailable,
                                         .what = "the server is stopping",
                                         .where = {},
                                         .why = {},
                                         .fix = {"repeat the request: a new server takes it"}}));
  }
  if (phase_ != Phase::sending) end();
}

void OpenSession::end() {
  if (phase_ == Phase::ended) return;
  const auto self = shared_from_this();  // the list lets go of it below
  phase_ = Phase::ended;
  boost::system::error_code ignored;
  if (socket_.is_open())
    socket_.close(ignored);
  else
    ::close(fd_);
  flow_.reset();
  host_.on_ended(*this);
}

}  // namespace

bool Gate::post(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (loop_ == nullptr) return false;
  asio::post(*loop_, std::move(work));
  return true;
}

void Gate::shut() {
  const std::lock_guard lock(mutex_);
  loop_ = nullptr;
}

std::shared_ptr<Session> make_session(SessionHost& host, UniqueFd socket, Peer peer) {
  return std::make_shared<OpenSession>(host, std::move(socket), peer);
}

}  // namespace muster::http
