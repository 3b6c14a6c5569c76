/// The one error type. Its kind says what the *caller* can do about it; the texts say what failed,
/// on what, why, and what to try. Nothing that can happen in the field throws across a room.
#pragma once
#include <fmt/core.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace muster {

enum class Kind : std::uint8_t {
  usage,        // the caller must ask differently
  not_found,    // no such thing
  conflict,     // it clashes with what is there
  denied,       // not allowed
  exhausted,    // a limit is reached; may be retried
  unavailable,  // not reachable now; may be retried
  corrupt,      // what was read cannot be trusted
  cancelled,    // somebody asked for it to stop
  internal,     // our fault
};

struct Error {
  Kind kind = Kind::internal;
  std::string what;
  std::string where;
  std::string why;
  std::vector<std::string> fix;
};

template <class T = void>
using Result = tl::expected<T, Error>;

/// One row per kind: its name in JSON, the process exit code, the HTTP status.
struct KindRow {
  Kind kind;
  std::string_view name;
  int exit_code;
  int http_status;
};
const KindRow& row_of(Kind kind);
const KindRow* kind_by_name(std::string_view name);
const KindRow* kind_by_status(int http_status);

inline tl::unexpected<Error> fail(Kind kind, std::string what, std::string fix = {}) {
  Error error{.kind = kind, .what = std::move(what), .where = {}, .why = {}, .fix = {}};
  if (!fix.empty()) error.fix.push_back(std::move(fix));
  return tl::unexpected<Error>(std::move(error));
}

/// A failed system call: `what` names the operation and its object, `why` is errno's text.
/// The kind follows from errno (ENOENT -> not_found, ENOSPC -> exhausted, ...).
tl::unexpected<Error> fail_errno(std::string what, int error_number);

/// Adds context on the way up; never rewrites what is there.
template <class T>
Result<T> within(Result<T> result, std::string_view where) {
  if (!result) {
    auto& error = result.error();
    error.where =
        error.where.empty() ? std::string(where) : fmt::format("{}: {}", where, error.where);
  }
  return result;
}

/// The error as a person reads it on a terminal: several lines, ending in something to do.
std::string to_text(const Error& error);
/// The error on one line, for logs and evidence.
std::string to_line(const Error& error);

}  // namespace muster

#define MUSTER_CONCAT_(a, b) a##b
#define MUSTER_CONCAT(a, b) MUSTER_CONCAT_(a, b)
#define MUSTER_TRY_(decl, expr, tmp)                                        \
  auto tmp = (expr);                                                        \
  if (!tmp) return tl::unexpected<::muster::Error>(std::move(tmp).error()); \
  decl = std::move(*tmp)
/// `TRY(const auto plan, make_plan(spec));` declares on success, returns the error otherwise.
#define TRY(decl, ...) MUSTER_TRY_(decl, (__VA_ARGS__), MUSTER_CONCAT(try_result_, __LINE__))
/// The same for a Result<> without a value.
#define TRY_VOID(...)                                                                       \
  do {                                                                                      \
    auto try_result = (__VA_ARGS__);                                                        \
    if (!try_result) return tl::unexpected<::muster::Error>(std::move(try_result).error()); \
  } while (false)
