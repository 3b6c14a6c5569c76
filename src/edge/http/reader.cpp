#include "edge/http/reader.hpp"

#include <boost/beast/http/basic_parser.hpp>

#include "base/text.hpp"

namespace muster::http {
namespace {

namespace beast = boost::beast;
using beast::error_code;
using BodyLimit = boost::optional<std::uint64_t>;

std::string_view std_view(beast::string_view text) { return {text.data(), text.size()}; }

/// What Beast's parser finds, gathered. Trailers are read and dropped: no header may appear after
/// its request was judged.
template <bool is_request>
class Gathering : public beast::http::basic_parser<is_request> {
 public:
  Gathering() { this->eager(true); }

  std::string method;
  std::string target;
  int version = 11;
  int status = 0;
  Headers headers;
  std::string body;
  bool expects_continue = false;
  bool has_foreign_coding = false;

  /// Beast 1.81 asserts that the line of a last chunk, looked at for the second time, comes with at
  /// least five bytes; "0\r\n" and one more are four. Between chunks no fewer than five bytes can
  /// be missing, so waiting for them loses nothing.
  bool needs_more_than(std::size_t bytes) const {
    constexpr std::size_t kLastChunk = 5;  // "0\r\n\r\n"
    return this->is_header_done() && this->chunked() && chunk_left_ == 0 && bytes < kLastChunk;
  }

 private:
  void on_request_impl(beast::http::verb, beast::string_view method_text,
                       beast::string_view target_text, int http_version, error_code&) override {
    method = std_view(method_text);
    target = std_view(target_text);
    version = http_version;
  }
  void on_response_impl(int code, beast::string_view, int http_version, error_code&) override {
    status = code;
    version = http_version;
  }
  void on_field_impl(beast::http::field id, beast::string_view name, beast::string_view value,
                     error_code&) override {
    if (is_judged_) return;
    headers.emplace_back(std_view(name), std_view(value));
    if (id == beast::http::field::expect && same_name(std_view(value), "100-continue"))
      expects_continue = true;
    if (id == beast::http::field::transfer_encoding && !same_name(std_view(value), "chunked"))
      has_foreign_coding = true;
  }
  void on_header_impl(error_code&) override { is_judged_ = true; }
  void on_body_init_impl(const BodyLimit&, error_code&) override {}
  std::size_t on_body_impl(beast::string_view bytes, error_code&) override {
    body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t size, beast::string_view, error_code&) override {
    chunk_left_ = size;
  }
  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view bytes, error_code&) override {
    chunk_left_ -= bytes.size();
    body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_finish_impl(error_code&) override {}

  bool is_judged_ = false;
  std::uint64_t chunk_left_ = 0;
};

/// Feeds the buffer to the parser and drops what it took. Nothing wrong: no error.
template <class Parser>
error_code pump(Parser& parser, std::string& buffer, std::size_t& header_bytes,
                const ReaderLimits& limits) {
  error_code error;
  std::size_t used = 0;
  while (used < buffer.size() && !parser.is_done()) {
    if (parser.needs_more_than(buffer.size() - used)) break;
    const bool in_header = !parser.is_header_done();
    const auto taken = parser.put({buffer.data() + used, buffer.size() - used}, error);
    used += taken;
    if (in_header) header_bytes += taken;
    if (error || taken == 0) break;
  }
  buffer.erase(0, used);
  if (error == beast::http::error::need_more) error = {};
  if (error || parser.is_done()) return error;
  // Beast bounds each line; these bound the whole header, and chunk lines and trailers.
  const bool is_over = parser.is_header_done() ? buffer.size() > limits.header
                                               : header_bytes + buffer.size() > limits.header;
  return is_over ? make_error_code(beast::http::error::header_limit) : error;
}

Refusal refusal(int status, std::string what, std::string fix) {
  return {status, Error{.kind = Kind::usage,
                        .what = std::move(what),
                        .where = {},
                        .why = {},
                        .fix = {std::move(fix)}}};
}

Refusal refusal_of(const error_code& error, const ReaderLimits& limits) {
  if (error == beast::http::error::header_limit)
    return refusal(431, fmt::format("the request's header is larger than {} bytes", limits.header),
                   "send fewer or shorter headers");
  if (error == beast::http::error::body_limit)
    return refusal(413, fmt::format("the request's body is larger than {} bytes", limits.body),
                   "send it in several requests");
  auto refused = refusal(400, "this is not an HTTP/1.1 request", "speak HTTP/1.1 on this socket");
  refused.error.why = error.message();
  return refused;
}

std::size_t count_of(const Headers& headers, std::string_view name) {
  std::size_t count = 0;
  for (const auto& header : headers) count += same_name(header.first, name) ? 1 : 0;
  return count;
}

}  // namespace

class RequestReader::Parser final : public Gathering<true> {
 public:
  /// What RFC 9112 demands and Beast lets pass.
  std::optional<Refusal> objection() const {
    if (has_foreign_coding)
      return refusal(400, "the transfer coding is not chunked alone", "send plain chunks");
    const auto hosts = count_of(headers, "host");
    if (hosts > 1 || (hosts == 0 && version >= 11))
      return refusal(400, "an HTTP/1.1 request names its host exactly once",
                     "add the header \"Host: muster\"");
    return std::nullopt;
  }
};

RequestReader::RequestReader(ReaderLimits limits) : limits_(limits) {}
RequestReader::~RequestReader() = default;

void RequestReader::append(std::string_view bytes) { buffer_ += bytes; }

tl::expected<bool, Refusal> RequestReader::parse() {
  if (!parser_) {
    // Empty lines between requests are allowed and mean nothing.
    buffer_.erase(0, std::min(buffer_.find_first_not_of("\r\n"), buffer_.size()));
    if (buffer_.empty()) return false;
    parser_ = std::make_unique<Parser>();
    parser_->header_limit(static_cast<std::uint32_t>(limits_.header));
    parser_->body_limit(limits_.body);
  }
  const auto error = pump(*parser_, buffer_, header_bytes_, limits_);
  if (error) return tl::unexpected(refusal_of(error, limits_));
  if (!parser_->is_header_done()) return false;
  if (auto objection = parser_->objection()) return tl::unexpected(std::move(*objection));
  return parser_->is_done();
}

tl::expected<std::optional<Incoming>, Refusal> RequestReader::next() {
  const auto is_done = parse();
  if (!is_done) return tl::unexpected(is_done.error());
  if (!*is_done) return std::nullopt;
  auto target = parse_target(parser_->target);
  if (!target) return tl::unexpected(Refusal{400, std::move(target.error())});
  Incoming incoming{.request = {.method = std::move(parser_->method),
                                .path = std::move(target->path),
                                .query = std::move(target->query),
                                .headers = std::move(parser_->headers),
                                .body = std::move(parser_->body)},
                    .keep_alive = parser_->keep_alive(),
                    .is_http10 = parser_->version < 11};
  parser_.reset();
  header_bytes_ = 0;
  return incoming;
}

RequestReader::Progress RequestReader::progress() const {
  if (!parser_) return Progress::nothing;
  return parser_->is_header_done() ? Progress::body : Progress::header;
}

bool RequestReader::take_continue() {
  if (!parser_ || !parser_->is_header_done() || !parser_->expects_continue) return false;
  parser_->expects_continue = false;
  return parser_->version >= 11 && buffer_.empty() && parser_->body.empty();
}

class ResponseReader::Parser final : public Gathering<false> {};

ResponseReader::ResponseReader(ReaderLimits limits, BodyRule rule) : limits_(limits), rule_(rule) {
  start();
}
ResponseReader::~ResponseReader() = default;

void ResponseReader::start() {
  parser_ = std::make_unique<Parser>();
  parser_->header_limit(static_cast<std::uint32_t>(limits_.header));
  parser_->body_limit(boost::none);
  parser_->skip(rule_ == BodyRule::absent);
  header_bytes_ = 0;
}

Result<> ResponseReader::feed(std::string_view bytes) {
  buffer_ += bytes;
  while (!buffer_.empty() && !parser_->is_done()) {
    // Told at once, not when a line end comes: who is there may never send one.
    constexpr std::string_view kStart = "HTTP/1.";
    if (header_bytes_ == 0 &&
        !kStart.starts_with(std::string_view(buffer_).substr(0, kStart.size())))
      return fail(Kind::corrupt, "the answer is not HTTP/1.1");
    const auto error = pump(*parser_, buffer_, header_bytes_, limits_);
    if (error || parser_->has_foreign_coding) {
      auto failed = fail(Kind::corrupt, "the answer is not HTTP/1.1");
      failed.value().why = error ? error.message() : "a transfer coding other than chunked";
      return failed;
    }
    if (parser_->body.size() > limits_.body)
      return fail(Kind::exhausted, fmt::format("the answer is larger than {} bytes", limits_.body),
                  "ask for less at a time");
    if (!parser_->is_done()) break;
    if (parser_->status / 100 == 1 && parser_->status != 101) start();
  }
  return {};
}

Result<> ResponseReader::finish() {
  if (parser_->is_done()) return {};
  error_code error = make_error_code(beast::http::error::partial_message);
  if (parser_->is_header_done()) parser_->put_eof(error);
  if (error) return fail(Kind::unavailable, "the server closed the connection within its answer");
  return {};
}

bool ResponseReader::has_head() const {
  return parser_->is_header_done() && (parser_->status / 100 != 1 || parser_->status == 101);
}
bool ResponseReader::is_complete() const { return parser_->is_done() && has_head(); }
bool ResponseReader::is_reusable() const {
  return is_complete() && buffer_.empty() && parser_->keep_alive() && !parser_->need_eof();
}
int ResponseReader::status() const { return parser_->status; }
const Headers& ResponseReader::headers() const { return parser_->headers; }
std::string ResponseReader::take_body() { return std::exchange(parser_->body, {}); }

}  // namespace muster::http
