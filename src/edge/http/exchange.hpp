/// One request and its answer, as the code that serves it sees them. Every call may come from any
/// thread, and none of them calls back before it returns.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "edge/http/message.hpp"

namespace muster::http {

/// A body that is written while it comes to be. Memory is bounded by the producer: it looks at
/// `pending()` and waits for `on_drain` when that is much. Dropping the stream without `close()`
/// breaks the connection, so that the reader does not take a part for the whole.
class Stream {
 public:
  virtual ~Stream() = default;
  /// False when the peer is gone (or the stream was closed): produce no more.
  virtual bool write(std::string chunk) = 0;
  /// Bytes written here that the kernel has not taken yet.
  virtual std::size_t pending() const = 0;
  /// Calls back once, on the server's thread, when nothing is pending or the peer is gone. One that
  /// is set while the stream is already closed is called on the server's thread as well, or, when
  /// the server is no more, at once.
  virtual void on_drain(std::function<void()> drained) = 0;
  /// The end of the body; what is pending is still sent.
  virtual void close() = 0;
  virtual bool is_closed() const = 0;
};

/// Answered once, by `answer` or by `stream`; later answers are ignored. An exchange that is
/// dropped without one answers 500 by itself, so no client waits for ever.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const Request& request() const = 0;
  virtual void answer(Response response) = 0;
  /// Begins a body of unknown length. After an earlier answer the stream is closed from the start.
  virtual std::shared_ptr<Stream> stream(int status, std::string content_type) = 0;
};

/// Called on the server's thread; must not block. The exchange is shared by the server's thread and
/// whichever thread answers it.
using OnRequest = std::function<void(std::shared_ptr<Exchange>)>;

}  // namespace muster::http
