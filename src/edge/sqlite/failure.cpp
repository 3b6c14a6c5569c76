#include "edge/sqlite/failure.hpp"

#include <sqlite3.h>

#include <cerrno>
#include <cstring>

#include "base/text.hpp"

namespace muster::sqlite {
namespace {

constexpr std::size_t kStatementShown = 160;

struct Meaning {
  Kind kind;
  std::string_view what;
  std::string_view fix;
};

constexpr Meaning kFull{Kind::exhausted, "no room to write the store",
                        "free some disk space, then repeat; nothing was lost"};
constexpr Meaning kCorrupt{Kind::corrupt, "the store is damaged",
                           "put a copy back in its place (store.db.before-N, or your own backup)"};

bool is_out_of_room(int system_error) {
  return system_error == ENOSPC || system_error == EDQUOT || system_error == EFBIG;
}

Meaning meaning_of_io(const Failure& failure) {
  if (is_out_of_room(failure.system_error)) return kFull;
  if (failure.code == SQLITE_IOERR_CORRUPTFS || failure.code == SQLITE_IOERR_DATA) return kCorrupt;
  return {Kind::unavailable, "the disk failed under the store",
          "look at the kernel's log (dmesg) for errors of this disk"};
}

Meaning meaning_of(const Failure& failure) {
  switch (failure.code & 0xFF) {
    case SQLITE_FULL: return kFull;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return kCorrupt;
    case SQLITE_IOERR: return meaning_of_io(failure);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return {Kind::unavailable, "the store is locked by another process",
              "end the program that has store.db open, then repeat"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {Kind::denied, "the store may not be written",
              "check owner and permissions of the file and its folder"};
    case SQLITE_CANTOPEN:
      if (is_out_of_room(failure.system_error)) return kFull;
      return {Kind::denied, "the store cannot be opened",
              "check that the folder exists and is yours"};
    case SQLITE_NOMEM: return {Kind::exhausted, "no memory for the store", "free some memory"};
    case SQLITE_CONSTRAINT: return {Kind::conflict, "the store has this row already", ""};
    case SQLITE_TOOBIG: return {Kind::usage, "a value is too large for the store", ""};
    case SQLITE_INTERRUPT: return {Kind::cancelled, "a query of the store was stopped", ""};
    // Our statements fit our tables, and the version of those was looked at: they are not ours any
    // more.
    case SQLITE_ERROR:
      if (failure.message.starts_with("no such ")) return kCorrupt;
      [[fallthrough]];
    default: return {Kind::internal, "the store refused a statement", ""};
  }
}

}  // namespace

Error error_of(const Failure& failure, std::string_view path, std::string_view sql) {
  const auto meaning = meaning_of(failure);
  Error error{.kind = meaning.kind, .what = std::string(meaning.what), .where = {}, .why = {}};
  error.where = printable(path);
  if (!sql.empty()) error.where += fmt::format(": {}", clipped(printable(sql), kStatementShown));
  error.why = fmt::format("{} (SQLite code {})", failure.message, failure.code);
  if (failure.system_error != 0) error.why += fmt::format(": {}", strerror(failure.system_error));
  if (!meaning.fix.empty()) error.fix.emplace_back(meaning.fix);
  return error;
}

}  // namespace muster::sqlite
