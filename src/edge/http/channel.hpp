/// Bytes to and from one peer, whatever lies between: a socket, or encryption over another channel.
/// The calls of a Channel never block; `read` and `write` below wait. One thread at a time.
#pragma once
#include <memory>
#include <span>
#include <string_view>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "edge/http/wait.hpp"

namespace muster::http {

class Channel {
 public:
  virtual ~Channel() = default;

  /// What a call that moved nothing waits for; `closed`: the peer sends no more.
  enum class Next { input, output, closed };
  struct Moved {
    std::size_t bytes = 0;
    Next next = Next::input;  // when no byte was moved
  };
  virtual Result<Moved> read_some(std::span<char> into) = 0;
  /// May take bytes that the kernel has not taken yet: `flush_some` until it is `true`.
  virtual Result<Moved> write_some(std::string_view bytes) = 0;
  /// True when nothing taken is left to be sent.
  virtual Result<bool> flush_some() = 0;
  /// Nothing has come that was not read, an end included.
  virtual bool is_quiet() const = 0;
  /// For polling: nothing else may be done with it.
  virtual int fd() const = 0;
};

/// A connected, non-blocking stream socket.
std::unique_ptr<Channel> socket_channel(UniqueFd socket);

/// How a wait ends early: by the stop, or when nothing has moved for `silence`.
struct Waiting {
  Stop stop;
  Duration silence = Duration::max();
};
/// At least one byte; 0 when the peer has closed.
Result<std::size_t> read(Channel& channel, std::span<char> into, const Waiting& waiting);
Result<> write(Channel& channel, std::string_view bytes, const Waiting& waiting);

}  // namespace muster::http
