#include "app/cli/uninstall.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "app/server/home.hpp"
#include "base/text.hpp"
#include "edge/fs/files.hpp"
#include "edge/fs/remove_tree.hpp"
#include "edge/sqlite/records.hpp"

namespace muster {
namespace {

/// What a home is made of (docs/reference/home.md). The lock goes last.
constexpr std::array<std::string_view, 18> kOwn = {"store.db",
                                                   "store.db-wal",
                                                   "store.db-shm",
                                                   "jobs",
                                                   "chunks",
                                                   "trees",
                                                   "venvs",
                                                   "env",
                                                   "bin",
                                                   "kube",
                                                   "cache",
                                                   "attempt.key",
                                                   "socket",
                                                   "server.pid",
                                                   "server.log",
                                                   "server.err",
                                                   "collected.json",
                                                   "store.db.restored"};
constexpr std::array<std::string_view, 2> kPersons = {"config.yaml", "secrets"};
constexpr std::string_view kLock = "server.lock";

template <class List>
bool holds(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool is_own(std::string_view name) {
  return holds(kOwn, name) || name.starts_with("before-restore-") ||
         name.starts_with("server.log.");
}

Result<> check_all_over(const std::string& home) {
  const auto store = home + "/store.db";
  if (!fs::exists(store)) return {};
  TRY(const auto records, open_records(store));
  TRY(const auto live, records->list({.final = false, .limit = 10}));
  if (live.empty()) return {};
  std::vector<std::string> ids;
  for (const auto& row : live) ids.push_back(row.job.id.str());
  return fail(Kind::conflict, fmt::format("jobs are not over: {}", join(ids, ", ")),
              "end them first: muster abort --all");
}

class Remover {
 public:
  explicit Remover(const UninstallWish& wish) : wish_(wish) {}
  void remove(const std::string& path) {
    if (!fs::exists(path)) return;
    if (!wish_.only_told) fs::remove_tree(path);
    if (wish_.only_told || !fs::exists(path))
      removal.removed.push_back(path);
    else
      removal.strange.push_back(path);
  }
  void sort_home(const std::string& home) {
    for (const auto& name : fs::entries(home)) {
      const auto path = home + "/" + name;
      if (name == kLock) continue;
      if (is_own(name) || (wish_.is_purge && holds(kPersons, name)))
        remove(path);
      else
        (holds(kPersons, name) ? removal.kept : removal.strange).push_back(path);
    }
  }
  Removal removal;

 private:
  UninstallWish wish_;
};

Result<> clear_home(const std::string& home, const UninstallWish& wish, Remover& remover) {
  TRY_VOID(check_all_over(home));
  if (wish.only_told) {
    remover.sort_home(home);
    return {};
  }
  TRY_VOID(server::prepare_home(home));
  TRY(const auto lock, server::lock_home(home));
  TRY_VOID(check_all_over(home));  // nobody submits any more
  remover.sort_home(home);
  ::unlink((home + "/" + std::string(kLock)).c_str());
  ::rmdir(home.c_str());  // fails where something stays
  return {};
}

}  // namespace

Result<Removal> uninstall(const Paths& paths, const UninstallWish& wish) {
  Remover remover(wish);
  if (fs::exists(paths.state)) TRY_VOID(clear_home(paths.state, wish, remover));
  remover.remove(paths.cache);
  const bool is_elsewhere = !paths.config_file.starts_with(paths.state + "/");
  if (is_elsewhere && fs::exists(paths.config_file)) {
    if (wish.is_purge)
      remover.remove(paths.config_file);
    else
      remover.removal.kept.push_back(paths.config_file);
  }
  return remover.removal;
}

}  // namespace muster
