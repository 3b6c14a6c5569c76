#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "edge/sqlite/migrate.hpp"
#include "edge/sqlite/store.hpp"

namespace muster {
namespace {

std::string folder_of(const std::string& path) {
  auto folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// SQLite would make it as open as the umask allows. The log and its index take over the mode.
Result<> make_private(const std::string& path) {
  const UniqueFd made(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made && errno == EEXIST) return {};
  if (!made) return fail_errno(fmt::format("make the store {}", printable(path)), errno);
  const UniqueFd folder(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || ::fsync(folder.get()) != 0)
    return fail_errno(fmt::format("sync the folder of {}", printable(path)), errno);
  return {};
}

std::string random_uuid() {
  auto bytes = random_bytes(16);
  bytes[6] = static_cast<char>((bytes[6] & 0x0F) | 0x40);  // version 4: random
  bytes[8] = static_cast<char>((bytes[8] & 0x3F) | 0x80);
  const auto hex = to_hex(bytes);
  return fmt::format("{}-{}-{}-{}-{}", hex.substr(0, 8), hex.substr(8, 4), hex.substr(12, 4),
                     hex.substr(16, 4), hex.substr(20));
}

/// What is made once with a store: absent rows only.
Result<> fill_meta(sqlite::Db& db) {
  TRY(const auto rows, db.integer("SELECT count(*) FROM meta"));
  if (rows >= 3) return {};
  std::int64_t id_key = 0;
  const auto random = random_bytes(sizeof(id_key));
  std::memcpy(&id_key, random.data(), sizeof(id_key));
  constexpr std::string_view kInsert =
      "INSERT INTO meta (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING";
  TRY(auto transaction, sqlite::Transaction::begin(db, sqlite::Access::write));
  TRY_VOID(db.run(kInsert, std::string_view("id_key"), id_key));
  TRY_VOID(db.run(kInsert, std::string_view("home"), random_uuid()));
  TRY_VOID(db.run(kInsert, std::string_view("clock"), std::string_view("0 0 0 ")));
  return transaction.commit();
}

Result<> set_up(sqlite::Db& db, const StoreOptions& options) {
  {
    TRY(auto mode, db.statement("PRAGMA journal_mode = WAL"));
    TRY(const bool said, mode.step());
    if (!said || mode.text(0) != "wal")
      return fail(Kind::unavailable, "the store cannot keep a write-ahead log",
                  "end the program that has store.db open, or use a local disk");
  }
  // No pragma wal_autocheckpoint here: it would take the place of the hook that watches the log.
  // Having the hook is what turns automatic checkpoints off.
  TRY_VOID(db.script("PRAGMA synchronous = FULL; PRAGMA cache_size = -16000;"));
  if (options.page_limit > 0)
    TRY_VOID(db.script(fmt::format("PRAGMA max_page_count = {}", options.page_limit)));
  return {};
}

}  // namespace

Result<std::unique_ptr<SqliteStore>> open_store(const std::string& path, Log& log,
                                                const StoreOptions& options) {
  TRY_VOID(require_local_fs(folder_of(path), options.fuse));
  TRY_VOID(make_private(path));
  TRY(auto db, sqlite::Db::open(path, sqlite::OpenMode::existing));
  TRY(const auto migrations, sqlite::built_in_migrations());
  TRY_VOID(sqlite::migrate(db, migrations, log));
  TRY_VOID(set_up(db, options));
  TRY_VOID(fill_meta(db));
  return std::make_unique<SqliteStore>(std::move(db), log, options);
}

}  // namespace muster
