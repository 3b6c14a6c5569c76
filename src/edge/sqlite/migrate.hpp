/// Brings a store to the version this program knows: numbered steps, each one transaction. Refuses
/// what is not a store and what a newer program wrote; copies an older one before touching it.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "edge/sqlite/db.hpp"

namespace muster::sqlite {

/// Names a store to file(1) and to us: "mstr".
constexpr std::int64_t kApplicationId = 0x6D737472;

struct Migration {
  int number = 0;  // 1, 2, 3, ... without gaps
  std::string name;
  std::string sql;
};

/// Those built into the program, from schema/NNN_name.sql.
Result<std::vector<Migration>> built_in_migrations();

/// Leaves the store at the last migration's number. A store that had rows is first copied to
/// `<path>.before-N`, N being the first step that is to be taken.
Result<> migrate(Db& db, std::span<const Migration> migrations, Log& log);

/// For readers: the store is one, and of exactly this version.
Result<> require_version(Db& db, int version);

}  // namespace muster::sqlite
