#include "edge/sqlite/migrate.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "base/units.hpp"

namespace muster {
const std::vector<std::pair<std::string_view, std::string_view>>& embedded_sql();
}  // namespace muster

namespace muster::sqlite {
namespace {

/// Refuses with every line that a person needs.
tl::unexpected<Error> refuse(Kind kind, const Db& db, std::string what, std::string why,
                             std::string fix) {
  Error error{.kind = kind, .what = std::move(what), .where = printable(db.path())};
  error.why = std::move(why);
  error.fix.push_back(std::move(fix));
  return tl::unexpected<Error>(std::move(error));
}

tl::unexpected<Error> refuse_foreign(const Db& db, std::int64_t application) {
  return refuse(Kind::conflict, db, "this file is not a muster store",
                fmt::format("another program's SQLite database (application id {})", application),
                "move the file away, or set MUSTER_HOME to another folder");
}

tl::unexpected<Error> refuse_newer(const Db& db, std::int64_t version, int known) {
  return refuse(Kind::conflict, db, "a newer muster wrote this store",
                fmt::format("it has version {}, this program knows up to {}", version, known),
                "use the newer muster, or set MUSTER_HOME to another folder");
}

/// The version of the store; 0 for a file without anything in it.
Result<std::int64_t> version_of(Db& db) {
  TRY(const auto application, db.integer("PRAGMA application_id"));
  TRY(const auto version, db.integer("PRAGMA user_version"));
  TRY(const auto tables, db.integer("SELECT count(*) FROM sqlite_schema"));
  if (application == kApplicationId) {
    if (version > 0) return version;
    return refuse(Kind::corrupt, db, "the store is damaged", "its version is not a version",
                  "put a copy back in its place (store.db.before-N, or your own backup)");
  }
  if (application != 0 || version != 0 || tables != 0) return refuse_foreign(db, application);
  return 0;
}

Result<> sync_path(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0)
    return fail_errno(fmt::format("sync {}", printable(path)), errno);
  return {};
}

/// A whole copy under its final name, or none.
Result<> copy_before(Db& db, int step, Log& log) {
  const auto target = fmt::format("{}.before-{}", db.path(), step);
  const auto part = target + ".part";
  ::unlink(part.c_str());
  TRY_VOID(db.run("VACUUM INTO ?1", part));
  TRY_VOID(sync_path(part));  // VACUUM INTO does not sync what it wrote
  if (::rename(part.c_str(), target.c_str()) != 0)
    return fail_errno(fmt::format("rename {} into place", printable(part)), errno);
  auto folder = std::filesystem::path(db.path()).parent_path().string();
  TRY_VOID(sync_path(folder.empty() ? "." : folder));
  log.info("store copied before migration", {{"copy", printable(target)}});
  return {};
}

Result<> apply(Db& db, const Migration& migration) {
  TRY(auto transaction, Transaction::begin(db, Access::write));
  TRY_VOID(db.script(migration.sql));
  TRY_VOID(db.script(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                                 kApplicationId, migration.number)));
  return transaction.commit();
}

}  // namespace

Result<std::vector<Migration>> built_in_migrations() {
  std::vector<Migration> migrations;
  for (const auto& [stem, sql] : embedded_sql()) {
    const auto mark = stem.find('_');
    TRY(const auto number, within(parse_whole(stem.substr(0, mark), 1, 999), stem));
    if (number != static_cast<std::int64_t>(migrations.size()) + 1)
      return fail(Kind::internal, fmt::format("migration {} is out of order", stem));
    migrations.push_back({static_cast<int>(number), std::string(stem), std::string(sql)});
  }
  return migrations;
}

Result<> migrate(Db& db, std::span<const Migration> migrations, Log& log) {
  const int known = migrations.empty() ? 0 : migrations.back().number;
  TRY(const auto version, version_of(db));
  if (version > known) return refuse_newer(db, version, known);
  if (version > 0 && version < known) TRY_VOID(copy_before(db, static_cast<int>(version) + 1, log));
  for (const auto& migration : migrations) {
    if (migration.number <= version) continue;
    TRY_VOID(within(apply(db, migration), fmt::format("migration {}", migration.name)));
    if (version > 0) log.info("store migrated", {{"step", migration.name}});
  }
  return {};
}

Result<> require_version(Db& db, int version) {
  TRY(const auto found, version_of(db));
  if (found > version) return refuse_newer(db, found, version);
  if (found < version)
    return refuse(Kind::conflict, db, "an older muster wrote this store",
                  fmt::format("it has version {}, this program reads {}", found, version),
                  "let a server of this version open it once: muster serve");
  return {};
}

}  // namespace muster::sqlite
