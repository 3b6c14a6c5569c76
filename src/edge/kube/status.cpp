#include "edge/kube/status.hpp"

#include <algorithm>
#include <charconv>

#include "base/text.hpp"
#include "core/model/json.hpp"

namespace muster::kube {
namespace {

constexpr std::size_t kToldBytes = 300;
constexpr std::int64_t kLongestWait = 3600;  // seconds; more is nonsense

struct KindOfCode {
  int code;
  Kind kind;
  std::string_view fix;
};
constexpr KindOfCode kKinds[] = {
    {400, Kind::usage, ""},
    {401, Kind::denied, "log in again: the cluster does not take these credentials"},
    {403, Kind::denied, "ask whoever runs the cluster for this right"},
    {404, Kind::not_found, ""},
    {405, Kind::usage, ""},
    {406, Kind::usage, ""},
    {409, Kind::conflict, ""},
    {410, Kind::conflict, "read it again from the beginning"},
    {413, Kind::usage, "send less at once"},
    {415, Kind::usage, ""},
    {422, Kind::usage, ""},
    {429, Kind::exhausted, "try again later"},
};

/// The server's 5xx are its own trouble, never ours; an unknown 4xx is about what was asked.
KindOfCode kind_of(int code) {
  for (const auto& row : kKinds)
    if (row.code == code) return row;
  if (code >= 400 && code < 500) return {code, Kind::usage, ""};
  return {code, Kind::unavailable, "try again later"};
}

std::optional<Duration> seconds(std::int64_t count) {
  if (count <= 0) return std::nullopt;
  return std::chrono::seconds(std::min(count, kLongestWait));
}

std::optional<Duration> retry_after(const http::Headers& headers) {
  const auto text = trimmed(http::find_header(headers, "Retry-After"));
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return seconds(count);
}

/// Kind and advice, once code, reason and message are known.
void judge(ApiError& error) {
  const auto row = kind_of(error.code);
  error.kind = row.kind;
  // A quota is a limit, not a missing right: what waits for it may be tried again.
  if (error.code == 403 && error.what.find("exceeded quota") != std::string::npos) {
    error.kind = Kind::exhausted;
    error.fix = {"wait until others have finished, or ask for a larger quota"};
  } else if (error.code == 500 &&
             error.what.find("field not declared in schema") != std::string::npos) {
    error.kind = Kind::usage;  // server-side apply tells a wrong field so
  } else if (!row.fix.empty()) {
    error.fix = {std::string(row.fix)};
  }
}

void read_details(const json::object& status, ApiError& error) {
  const auto* value = field(status, "details");
  if (value == nullptr || !value->is_object()) return;
  const auto& details = value->get_object();
  if (!error.retry_after) error.retry_after = seconds(number_at(details, "retryAfterSeconds"));
  for (const auto& item : list_at(details, "causes")) {
    if (!item.is_object()) continue;
    const auto& cause = item.get_object();
    error.causes.push_back({.reason = std::string(text_at(cause, "reason")),
                            .field = std::string(text_at(cause, "field")),
                            .message = std::string(text_at(cause, "message"))});
  }
}

ApiError from_status(const json::object& status, int code) {
  ApiError error;
  error.code = code != 0 ? code : static_cast<int>(number_at(status, "code"));
  error.reason = text_at(status, "reason");
  error.what = printable(text_at(status, "message"));
  if (error.what.empty()) error.what = fmt::format("the cluster refused ({})", error.reason);
  read_details(status, error);
  if (const auto* meta = field(status, "metadata"); meta != nullptr && meta->is_object())
    error.continue_token = text_at(meta->get_object(), "continue");
  judge(error);
  return error;
}

}  // namespace

bool ApiError::has_cause(std::string_view cause) const {
  return std::any_of(causes.begin(), causes.end(),
                     [&](const ApiCause& one) { return one.reason == cause; });
}

ApiError api_error(int code, std::string_view body, const http::Headers& headers) {
  auto parsed = parse_json(body);
  ApiError error;
  if (parsed && parsed->is_object() && text_at(parsed->get_object(), "kind") == "Status") {
    error = from_status(parsed->get_object(), code);
  } else {
    error.code = code;
    error.what = fmt::format("the cluster answered {} {}", code, http::status_text(code));
    error.why = printable(trimmed(body.substr(0, kToldBytes)));
    judge(error);
  }
  if (const auto wait = retry_after(headers)) error.retry_after = wait;
  return error;
}

ApiError api_error(const boost::json::object& status) { return from_status(status, 0); }

}  // namespace muster::kube
