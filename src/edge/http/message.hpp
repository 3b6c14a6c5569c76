/// HTTP values without a library's types: requests, answers, and the text of heads and targets.
/// Pure; any thread.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace muster::http {

using Headers = std::vector<std::pair<std::string, std::string>>;
using Query = std::vector<std::pair<std::string, std::string>>;

/// The value of the first header of that name (case does not matter); empty when there is none.
std::string_view find_header(const Headers& headers, std::string_view name);
bool same_name(std::string_view a, std::string_view b);

/// What a client asked, and who it is by the kernel's word.
struct Request {
  std::string method;
  std::string path;  // as sent, still percent-encoded: whoever matches it decodes its parts, once
  Query query;       // decoded
  Headers headers;
  std::string body;
  std::uint32_t peer_uid = 0;
  int peer_pid = 0;

  std::string header(std::string_view name) const {
    return std::string(find_header(headers, name));
  }
  /// The first value of a query parameter; nothing when it is absent.
  std::optional<std::string> parameter(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  Headers headers;
};

/// How the end of a body is told.
enum class Framing : std::uint8_t { length, chunked, until_close };

struct Head {
  int status = 200;
  std::string_view content_type;
  const Headers* headers = nullptr;
  Framing framing = Framing::length;
  std::size_t length = 0;
  bool is_last = false;  // the connection closes after this answer
};
/// Status line and headers, with the empty line. Control bytes in values become spaces: an answer
/// cannot be split by what it carries.
std::string head_text(const Head& head);
std::string_view status_text(int status);

/// One decoding of %XX; nothing when an escape is broken.
std::optional<std::string> percent_decoded(std::string_view text);
/// Everything but letters, digits and "-._~" is escaped.
std::string percent_encoded(std::string_view text);
/// "a=1&b=two%20words"
std::string query_text(const Query& query);

struct Target {
  std::string path;
  Query query;
};
/// Splits a request target ("/path?a=b", or the absolute form with a scheme and a host).
Result<Target> parse_target(std::string_view text);

}  // namespace muster::http
