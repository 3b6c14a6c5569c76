/// What a Kubernetes server says when it refuses: its own words (code, reason, causes) beside ours
/// (the kind, what failed, what to do). An ApiError is an Error, so `TRY` and `within` take it
/// where only our words matter. Pure; any thread.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/time.hpp"
#include "edge/http/message.hpp"
#include "edge/kube/json_fwd.hpp"

namespace muster::kube {

/// One of a Status object's details.causes.
struct ApiCause {
  std::string reason;
  std::string field;
  std::string message;
};

struct ApiError : Error {
  ApiError() = default;
  /// What went wrong before there was an answer: code 0.
  ApiError(Error error) : Error(std::move(error)) {}  // NOLINT: an Error is one by nature

  int code = 0;        // HTTP's, or the one inside a watch's ERROR event
  std::string reason;  // "NotFound", "AlreadyExists", "Expired", ...
  std::vector<ApiCause> causes;
  std::optional<Duration> retry_after;
  std::string continue_token;  // of an expired list: how to go on, at a later state

  bool has_cause(std::string_view cause) const;
  bool is_gone() const { return code == 410 || reason == "Expired" || reason == "Gone"; }
  bool is_existing() const { return reason == "AlreadyExists"; }
};

template <class T = void>
using ApiResult = tl::expected<T, ApiError>;

/// The error of a refusal. A body that is no Status object still becomes one: its beginning is
/// told.
ApiError api_error(int code, std::string_view body, const http::Headers& headers);
/// The error of a Status object (of a watch's ERROR event, of exec's last word).
ApiError api_error(const boost::json::object& status);

}  // namespace muster::kube

/// TRY for functions that return an ApiResult: the server's own words are kept.
#define API_TRY_(decl, expr, tmp)                                                    \
  auto tmp = (expr);                                                                 \
  if (!tmp) return tl::unexpected<::muster::kube::ApiError>(std::move(tmp).error()); \
  decl = std::move(*tmp)
#define API_TRY(decl, ...) API_TRY_(decl, (__VA_ARGS__), MUSTER_CONCAT(api_try_, __LINE__))
#define API_TRY_VOID(...)                                                                      \
  do {                                                                                         \
    auto api_try = (__VA_ARGS__);                                                              \
    if (!api_try) return tl::unexpected<::muster::kube::ApiError>(std::move(api_try).error()); \
  } while (false)
