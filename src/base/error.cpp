#include "base/error.hpp"

#include <array>
#include <cerrno>
#include <cstring>

#include "base/check.hpp"

namespace muster {
namespace {

constexpr std::array kKinds{
    KindRow{Kind::usage, "usage", 2, 400},
    KindRow{Kind::denied, "denied", 4, 403},
    KindRow{Kind::not_found, "not_found", 5, 404},
    KindRow{Kind::unavailable, "unavailable", 6, 503},
    KindRow{Kind::exhausted, "exhausted", 7, 429},
    KindRow{Kind::conflict, "conflict", 8, 409},
    KindRow{Kind::corrupt, "corrupt", 9, 422},
    KindRow{Kind::internal, "internal", 70, 500},
    KindRow{Kind::cancelled, "cancelled", 130, 499},
};

Kind kind_of_errno(int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
    case ESRCH: return Kind::not_found;
    case EACCES:
    case EPERM:
    case EROFS: return Kind::denied;
    case EEXIST:
    case EBUSY:
    case EADDRINUSE: return Kind::conflict;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN: return Kind::exhausted;
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
    case ETIMEDOUT: return Kind::unavailable;
    case ENAMETOOLONG:
    case EINVAL:
    case ELOOP: return Kind::usage;
    default: return Kind::internal;
  }
}

}  // namespace

const KindRow& row_of(Kind kind) {
  for (const auto& row : kKinds)
    if (row.kind == kind) return row;
  MUSTER_CHECK(false, "kind {} has no row", static_cast<int>(kind));
}

const KindRow* kind_by_name(std::string_view name) {
  for (const auto& row : kKinds)
    if (row.name == name) return &row;
  return nullptr;
}

const KindRow* kind_by_status(int http_status) {
  for (const auto& row : kKinds)
    if (row.http_status == http_status) return &row;
  return nullptr;
}

tl::unexpected<Error> fail_errno(std::string what, int error_number) {
  Error error{.kind = kind_of_errno(error_number),
              .what = std::move(what),
              .where = {},
              .why = {},
              .fix = {}};
  error.why = std::strerror(error_number);
  if (error_number == ENOSPC || error_number == EDQUOT)
    error.fix.emplace_back("free some disk space, then repeat; nothing was lost");
  if (error_number == EMFILE || error_number == ENFILE)
    error.fix.emplace_back("raise the limit of open files (ulimit -n)");
  return tl::unexpected<Error>(std::move(error));
}

std::string to_text(const Error& error) {
  std::string text = error.what;
  if (!error.where.empty()) text += fmt::format("\n  where: {}", error.where);
  if (!error.why.empty()) text += fmt::format("\n  why:   {}", error.why);
  for (const auto& fix : error.fix) text += fmt::format("\n  fix:   {}", fix);
  return text;
}

std::string to_line(const Error& error) {
  std::string line =
      error.where.empty() ? error.what : fmt::format("{}: {}", error.where, error.what);
  if (!error.why.empty()) line += fmt::format(" ({})", error.why);
  return line;
}

}  // namespace muster
