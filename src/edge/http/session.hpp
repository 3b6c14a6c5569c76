/// One accepted connection of a Server: reads requests, one at a time, and writes their answers in
/// order. Everything here happens on the server's thread, but for `Gate::post`.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/unique_fd.hpp"
#include "edge/http/server.hpp"

namespace boost::asio {
class io_context;
}

namespace muster::http {

using TimePoint = std::chrono::steady_clock::time_point;

/// The way onto the loop from other threads, shared by everything that may outlive the server.
class Gate {
 public:
  explicit Gate(boost::asio::io_context& loop) : loop_(&loop) {}
  /// False when the server is no more.
  bool post(std::function<void()> work);
  void shut();

 private:
  std::mutex mutex_;
  boost::asio::io_context* loop_;
};

struct Peer {
  std::uint32_t uid = 0;
  int pid = 0;
};

class Session;

/// What sessions share: owned by the server, outlives them.
struct SessionHost {
  boost::asio::io_context& loop;
  const ServerOptions& options;
  OnRequest on_request;
  std::shared_ptr<Gate> gate;
  std::vector<char> scratch;  // where all of them read to: a silent one needs no buffer of its own
  std::atomic<TimePoint> last_activity;
  std::function<void(Session&)> on_ended;
};

class Session {
 public:
  virtual ~Session() = default;
  virtual void start() = 0;
  /// Puts a peer out that is too slow.
  virtual void sweep(TimePoint now) = 0;
  /// The server stops: says so to a waiting peer, lets an answer finish, ends everything else.
  virtual void stop() = 0;
  virtual void end() = 0;
  /// Between requests, with nothing read of the next one.
  virtual bool is_silent() const = 0;
  virtual TimePoint since() const = 0;
};

/// Shared by the server's list and by the loop's callbacks that are under way.
std::shared_ptr<Session> make_session(SessionHost& host, UniqueFd socket, Peer peer);

}  // namespace muster::http
