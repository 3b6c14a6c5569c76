/// Bytes -> HTTP messages, piece by piece and with limits. Garbage is an error, never a crash; what
/// has two readings (a length beside chunks, two hosts, unknown codings) is refused. One thread.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "edge/http/message.hpp"

namespace muster::http {

struct ReaderLimits {
  std::size_t header = 64 * 1024;
  std::size_t body = 64 * 1024 * 1024;
};

/// Why a request is not served: the status is HTTP's own word, the error is ours.
struct Refusal {
  int status = 400;
  Error error;
};

struct Incoming {
  Request request;
  bool keep_alive = true;
  bool is_http10 = false;
};

/// Requests of one connection, in order; what follows a request is kept for the next one.
class RequestReader {
 public:
  enum class Progress { nothing, header, body };

  explicit RequestReader(ReaderLimits limits);
  ~RequestReader();

  void append(std::string_view bytes);
  /// A whole request, or nothing yet. After a refusal the connection cannot be read any further.
  tl::expected<std::optional<Incoming>, Refusal> next();
  Progress progress() const;
  /// True once per request that waits for "100 Continue" before it sends its body.
  bool take_continue();
  std::size_t buffered() const { return buffer_.size(); }

 private:
  class Parser;
  tl::expected<bool, Refusal> parse();

  ReaderLimits limits_;
  std::string buffer_;
  std::size_t header_bytes_ = 0;
  std::unique_ptr<Parser> parser_;  // made with the first byte: a silent peer costs nothing
};

/// Whether an answer may have a body: one to HEAD has none, whatever its headers say.
enum class BodyRule { present, absent };

/// One answer. Interim answers (1xx) are passed over. `limits.body` bounds what is not yet taken.
class ResponseReader {
 public:
  ResponseReader(ReaderLimits limits, BodyRule rule);
  ~ResponseReader();

  Result<> feed(std::string_view bytes);
  /// The peer closed: right for a body without a length, an error in the middle of anything else.
  Result<> finish();

  bool has_head() const;
  bool is_complete() const;
  /// The connection may carry another request.
  bool is_reusable() const;
  int status() const;
  const Headers& headers() const;
  /// The body's bytes since the last call.
  std::string take_body();
  /// What came after the answer: the first bytes of another protocol (101).
  std::string take_rest() { return std::move(buffer_); }

 private:
  class Parser;
  void start();

  ReaderLimits limits_;
  BodyRule rule_;
  std::string buffer_;
  std::size_t header_bytes_ = 0;
  std::unique_ptr<Parser> parser_;
};

}  // namespace muster::http
