#include "app/cli/backup.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "app/cli/build.hpp"
#include "app/server/home.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "core/model/json.hpp"
#include "edge/fs/files.hpp"
#include "edge/fs/remove_tree.hpp"
#include "edge/process/files.hpp"
#include "edge/sqlite/records.hpp"

namespace muster {
namespace {

constexpr const char* kStore = "/store.db";
constexpr const char* kAbout = "/backup.json";
constexpr int kVersion = 1;

Result<> sync_path(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0)
    return fail_errno(fmt::format("sync {}", printable(path)), errno);
  return {};
}

Result<> make_new_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0) return {};
  if (errno == EEXIST)
    return fail(Kind::conflict, fmt::format("{} is there already", printable(folder)),
                "name a folder that does not exist yet");
  return fail_errno(fmt::format("make {}", printable(folder)), errno);
}

/// A small file, whole; one that is there stays.
Result<> copy_file(const std::string& from, const std::string& to,
                   std::vector<std::string>* kept = nullptr) {
  if (!fs::exists(from)) return {};
  if (fs::exists(to)) {
    if (kept != nullptr) kept->push_back(to);
    return {};
  }
  TRY(const auto bytes, fs::read_file(from));
  return fs::write_durably(to, bytes);
}

Result<> copy_files(const std::string& from, const std::string& to,
                    std::vector<std::string>* kept = nullptr) {
  const auto names = fs::entries(from);
  if (!names.empty()) TRY_VOID(fs::make_dirs(to));
  for (const auto& name : names) TRY_VOID(copy_file(from + "/" + name, to + "/" + name, kept));
  return {};
}

Result<> write_about(const Backup& backup) {
  const json::object out{
      {"v", kVersion},       {"created", backup.created},       {"version", backup.version},
      {"jobs", backup.jobs}, {"last_event", backup.last_event}, {"secrets", backup.has_secrets}};
  return fs::write_durably(backup.folder + kAbout, json::serialize(out));
}

/// One moment of the store, as one file without a log, while others write on.
Result<> copy_store(const std::string& from, const std::string& to, Backup& backup) {
  TRY_VOID(open_records(from));  // says it when it is of another version
  {
    TRY(auto db, sqlite::Db::open(from, sqlite::OpenMode::read_only));
    TRY_VOID(db.run("VACUUM INTO ?1", std::string_view(to)));
  }
  if (::chmod(to.c_str(), 0600) != 0) return fail_errno(fmt::format("close {}", to), errno);
  TRY_VOID(sync_path(to));
  TRY(auto copy, sqlite::Db::open(to, sqlite::OpenMode::read_only));
  TRY(backup.jobs, copy.integer("SELECT count(*) FROM jobs"));
  TRY(backup.last_event, copy.integer("SELECT coalesce(max(seq), 0) FROM events"));
  return {};
}

/// Reads every page of it.
Result<> check_store(const std::string& path) {
  TRY_VOID(open_records(path));
  TRY(auto db, sqlite::Db::open(path, sqlite::OpenMode::read_only));
  TRY(auto rows, db.statement("PRAGMA quick_check(1)"));
  TRY(const bool has_row, rows.step());
  if (has_row && rows.text(0) == "ok") return {};
  return fail(Kind::corrupt, fmt::format("the store in the backup is damaged: {}", printable(path)),
              "use another backup");
}

/// The store as one file: with its log beside it, it could not be moved as a whole.
void put_log_into_store(const std::string& path) {
  // One that cannot be opened any more has a log nobody can use; it goes along.
  auto db = sqlite::Db::open(path, sqlite::OpenMode::existing);
  if (db) (void)db->checkpoint(sqlite::Checkpoint::truncate);
}

Result<std::string> move_store_aside(const std::string& home) {
  put_log_into_store(home + kStore);
  const auto to = fmt::format("{}/before-restore-{}", home, fs::walltime_us() / 1'000'000);
  TRY_VOID(make_new_folder(to));
  for (const char* name : {"/store.db-shm", "/store.db-wal", kStore})
    if (::rename((home + name).c_str(), (to + name).c_str()) != 0 && errno != ENOENT)
      return fail_errno(fmt::format("move {}{} aside", home, name), errno);
  TRY_VOID(sync_path(to));
  return to;
}

/// Of any size, and on the disk when it returns.
Result<> copy_large(const std::string& from, const std::string& to) {
  const UniqueFd in(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!in) return fail_errno(fmt::format("open {}", printable(from)), errno);
  const UniqueFd out(::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!out) return fail_errno(fmt::format("make {}", printable(to)), errno);
  std::vector<char> buffer(1U << 20);
  for (;;) {
    const auto got = ::read(in.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(fmt::format("read {}", printable(from)), errno);
    if (got == 0) break;
    TRY_VOID(process::write_all(out.get(), {buffer.data(), static_cast<std::size_t>(got)}));
  }
  if (::fsync(out.get()) != 0) return fail_errno(fmt::format("sync {}", printable(to)), errno);
  return {};
}

Result<> fill(const Paths& paths, Backup& backup) {
  const auto& folder = backup.folder;
  TRY_VOID(copy_store(paths.state + kStore, folder + kStore, backup));
  TRY_VOID(copy_file(paths.config_file, folder + "/config.yaml"));
  TRY_VOID(copy_file(paths.state + "/attempt.key", folder + "/attempt.key"));
  TRY_VOID(copy_files(paths.state + "/env", folder + "/env"));
  if (backup.has_secrets) TRY_VOID(copy_files(paths.state + "/secrets", folder + "/secrets"));
  return write_about(backup);
}

}  // namespace

Result<Backup> take_backup(const Paths& paths, const std::string& folder, bool with_secrets) {
  Backup backup{.folder = folder,
                .created = to_rfc3339(WallTime{fs::walltime_us()}),
                .version = this_build().version,
                .has_secrets = with_secrets};
  if (!fs::exists(paths.state + kStore))
    return fail(Kind::not_found, fmt::format("there is no store in {}", printable(paths.state)),
                "nothing was submitted here yet; another home: --home");
  TRY_VOID(make_new_folder(folder));
  if (auto filled = fill(paths, backup); !filled) {
    fs::remove_tree(folder);
    return tl::unexpected(std::move(filled).error());
  }
  return backup;
}

Result<Backup> read_backup(const std::string& folder) {
  const auto text = fs::read_file(folder + kAbout);
  if (!text)
    return fail(Kind::not_found, fmt::format("{} is no whole backup", printable(folder)),
                "a backup has the file backup.json, which is written last");
  TRY(const auto parsed, within(parse_json(*text), folder + kAbout));
  if (!parsed.is_object() || number_at(parsed.get_object(), "v") != kVersion)
    return fail(Kind::usage, fmt::format("{} was taken by another muster", printable(folder)),
                "restore it with the version that took it, or a newer one");
  const auto& about = parsed.get_object();
  return Backup{.folder = folder,
                .created = std::string(text_at(about, "created")),
                .version = std::string(text_at(about, "version")),
                .jobs = number_at(about, "jobs"),
                .last_event = number_at(about, "last_event"),
                .has_secrets = flag_at(about, "secrets")};
}

Result<Restored> restore_backup(const Paths& paths, const std::string& folder, OldStore old) {
  Restored restored;
  TRY(restored.backup, read_backup(folder));
  TRY_VOID(check_store(folder + kStore));
  const auto& home = paths.state;
  TRY_VOID(server::prepare_home(home));
  TRY(const auto lock, server::lock_home(home));
  const bool has_store = fs::exists(home + kStore);
  if (has_store && old == OldStore::refuse)
    return fail(Kind::conflict, fmt::format("{} has a store already", printable(home)),
                "to move it aside: muster restore --replace FOLDER");
  TRY_VOID(copy_files(folder + "/env", home + "/env"));
  TRY_VOID(copy_files(folder + "/secrets", home + "/secrets", &restored.kept));
  TRY_VOID(copy_file(folder + "/attempt.key", home + "/attempt.key"));
  TRY_VOID(copy_file(folder + "/config.yaml", paths.config_file, &restored.kept));
  // All of it is on the disk before the old one goes.
  const auto ready = home + kStore + ".restored";
  TRY_VOID(copy_large(folder + kStore, ready));
  if (has_store) {
    TRY(restored.before, move_store_aside(home));
  }
  if (::rename(ready.c_str(), (home + kStore).c_str()) != 0)
    return fail_errno(fmt::format("put the store into {}", printable(home)), errno);
  TRY_VOID(sync_path(home));
  return restored;
}

}  // namespace muster
