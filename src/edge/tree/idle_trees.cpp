#include "edge/tree/idle_trees.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <vector>

#include "base/unique_fd.hpp"
#include "core/tree/entry.hpp"
#include "edge/fs/files.hpp"
#include "edge/fs/remove_tree.hpp"

namespace muster::snapshot {
namespace {

constexpr std::size_t kAtOnce = 100;  // locks held together

struct Locked {
  std::string name;
  UniqueFd lock;
};

/// The snapshot of a tree: `<id>` as it was restored, `<id>.<digits>` after a set-up. Empty for
/// locks, marks and what is being made.
std::string id_in(std::string_view name) {
  constexpr std::size_t kId = 64, kSetup = 16;
  const auto id = name.substr(0, kId), rest = name.substr(id.size());
  const bool is_set_up = rest.size() == 1 + kSetup && rest.front() == '.' &&
                         rest.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos;
  return tree::from_hex(id) && (rest.empty() || is_set_up) ? std::string(id) : std::string();
}

bool is_old(const std::string& folder, Duration age) {
  struct stat about{};
  if (::lstat(folder.c_str(), &about) != 0) return false;
  const auto changed =
      std::int64_t{about.st_mtim.tv_sec} * 1'000'000 + about.st_mtim.tv_nsec / 1000;
  return fs::walltime_us() - changed > age.count();
}

/// Nothing when somebody else has it. The file stays for ever: who waits for it must not end up
/// with the lock of a file that has no name any more.
UniqueFd lock_now(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) fd.reset();
  return fd;
}

/// The mark goes first: killed in the middle, the rest of the tree is not taken for whole.
Result<> remove_one(const std::string& folder) {
  TRY_VOID(fs::remove_file(folder + ".boot"));
  fs::remove_tree(folder);
  return {};
}

}  // namespace

Result<std::uint64_t> remove_idle_trees(
    const std::string& trees, Duration age,
    const std::function<Result<std::set<std::string>>()>& used) {
  std::uint64_t removed = 0;
  std::vector<Locked> locked;
  const auto settle = [&]() -> Result<> {
    if (locked.empty()) return {};
    TRY(const auto wanted, used());
    for (const auto& [name, lock] : locked) {
      if (wanted.contains(id_in(name))) continue;
      TRY_VOID(remove_one(trees + "/" + name));
      ++removed;
    }
    locked.clear();
    return {};
  };
  for (const auto& name : fs::entries(trees)) {
    if (id_in(name).empty() || !is_old(trees + "/" + name, age)) continue;
    auto lock = lock_now(trees + "/" + name + ".lock");
    if (!lock) continue;
    locked.push_back({name, std::move(lock)});
    if (locked.size() == kAtOnce) TRY_VOID(settle());
  }
  TRY_VOID(settle());
  return removed;
}

}  // namespace muster::snapshot
