#include "edge/http/message.hpp"

#include <array>

#include "base/text.hpp"

namespace muster::http {
namespace {

struct StatusRow {
  int status;
  std::string_view text;
};
constexpr std::array kStatuses{
    StatusRow{200, "OK"},
    StatusRow{201, "Created"},
    StatusRow{202, "Accepted"},
    StatusRow{204, "No Content"},
    StatusRow{400, "Bad Request"},
    StatusRow{403, "Forbidden"},
    StatusRow{404, "Not Found"},
    StatusRow{405, "Method Not Allowed"},
    StatusRow{408, "Request Timeout"},
    StatusRow{409, "Conflict"},
    StatusRow{413, "Content Too Large"},
    StatusRow{422, "Unprocessable Content"},
    StatusRow{429, "Too Many Requests"},
    StatusRow{431, "Request Header Fields Too Large"},
    StatusRow{499, "Cancelled"},
    StatusRow{500, "Internal Server Error"},
    StatusRow{503, "Service Unavailable"},
};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char letter = lower(c);
  return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

bool is_plain(char c) {
  return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

void append_header(std::string& text, std::string_view name, std::string_view value) {
  text += name;
  text += ": ";
  for (const char c : value) text += (c >= 0 && c < ' ') || c == 0x7f ? ' ' : c;
  text += "\r\n";
}

std::optional<std::string> decoded_parameter(std::string_view text) {
  std::string spaced(text);
  for (char& c : spaced)
    if (c == '+') c = ' ';
  return percent_decoded(spaced);
}

/// "http://host/path" -> "/path"; the host has no meaning on a socket that has one owner.
std::string_view without_authority(std::string_view text) {
  const auto scheme = text.find("://");
  if (text.starts_with('/') || scheme == text.npos) return text;
  const auto slash = text.find('/', scheme + 3);
  return slash == text.npos ? std::string_view("/") : text.substr(slash);
}

}  // namespace

bool same_name(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (lower(a[i]) != lower(b[i])) return false;
  return true;
}

std::string_view find_header(const Headers& headers, std::string_view name) {
  for (const auto& [key, value] : headers)
    if (same_name(key, name)) return value;
  return {};
}

std::optional<std::string> Request::parameter(std::string_view name) const {
  for (const auto& [key, value] : query)
    if (key == name) return value;
  return std::nullopt;
}

std::string_view status_text(int status) {
  for (const auto& row : kStatuses)
    if (row.status == status) return row.text;
  return "Status";
}

std::string head_text(const Head& head) {
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", head.status, status_text(head.status));
  if (!head.content_type.empty()) append_header(text, "Content-Type", head.content_type);
  if (head.framing == Framing::chunked) text += "Transfer-Encoding: chunked\r\n";
  if (head.framing == Framing::length && head.status != 204)
    text += fmt::format("Content-Length: {}\r\n", head.length);
  if (head.is_last || head.framing == Framing::until_close) text += "Connection: close\r\n";
  if (head.headers != nullptr)
    for (const auto& [name, value] : *head.headers) append_header(text, name, value);
  return text += "\r\n";
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex_digit(text[i + 1]);
    const int low = hex_digit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_plain(c))
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string query_text(const Query& query) {
  std::string text;
  for (const auto& [name, value] : query) {
    if (!text.empty()) text += '&';
    text += percent_encoded(name) + '=' + percent_encoded(value);
  }
  return text;
}

Result<Target> parse_target(std::string_view text) {
  text = without_authority(text);
  if (const auto hash = text.find('#'); hash != text.npos) text = text.substr(0, hash);
  const auto mark = text.find('?');
  Target target{.path = std::string(text.substr(0, mark)), .query = {}};
  if (target.path.empty() || (target.path[0] != '/' && target.path != "*"))
    return fail(Kind::usage, fmt::format("the request target {} is not a path", printable(text)),
                "start it with /");
  if (mark == text.npos) return target;
  for (const auto part : split(text.substr(mark + 1), '&')) {
    if (part.empty()) continue;
    const auto equals = part.find('=');
    auto name = decoded_parameter(part.substr(0, equals));
    auto value = decoded_parameter(equals == part.npos ? "" : part.substr(equals + 1));
    if (!name || !value)
      return fail(Kind::usage, fmt::format("the query has a broken escape: {}", printable(part)),
                  "write % as %25");
    target.query.emplace_back(std::move(*name), std::move(*value));
  }
  return target;
}

}  // namespace muster::http
