#include "edge/tree/idle_trees.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <vector>

#include "base/unique_fd.hpp"
#include "core/tree/entry.hpp"
#include "edge/fs/files.hpp"
#include "edge/fs/lock_file.hpp"
#include "edge/fs/remove_tree.hpp"
#include "edge/fs/times.hpp"
#include "edge/tree/boot_mark.hpp"

namespace muster::snapshot {
namespace {

constexpr std::size_t kAtOnce = 100;  // locks held together
constexpr std::string_view kHex = "0123456789abcdef";

/// One kind of folders that are made once for many.
struct Kept {
  std::string folder;                            // they lie here
  std::string (*key_of)(std::string_view name);  // what `used` calls it; empty: none of them
  std::string mark;  // behind its path: it is whole, and when it was used last
};

struct Locked {
  std::string path;
  std::string key;
  UniqueFd lock;
};

/// The snapshot of a tree: `<id>` as it was restored, `<id>.<digits>` after a set-up. Empty for
/// locks, marks and what is being made.
std::string id_in(std::string_view name) {
  constexpr std::size_t kId = 64, kSetup = 16;
  const auto id = name.substr(0, kId), rest = name.substr(id.size());
  const bool is_set_up = rest.size() == 1 + kSetup && rest.front() == '.' &&
                         rest.find_first_not_of(kHex, 1) == std::string_view::npos;
  return tree::from_hex(id) && (rest.empty() || is_set_up) ? std::string(id) : std::string();
}

std::string venv_in(std::string_view name) {
  const bool is_one = name.size() == 32 && name.find_first_not_of(kHex) == std::string_view::npos;
  return is_one ? std::string(name) : std::string();
}

/// Of what a killed process left beside `<base>`, or of its lock: the base. Empty for all else.
std::string base_of_leftover(std::string_view name) {
  constexpr std::string_view kBefore = "tmp.";
  if (name.starts_with(kBefore)) name.remove_prefix(kBefore.size());
  for (const std::string_view end : {".new", ".old", ".lock"})
    if (name.ends_with(end)) return std::string(name.substr(0, name.size() - end.size()));
  return {};
}

std::int64_t changed_us(const std::string& path) {
  struct stat about{};
  if (::lstat(path.c_str(), &about) != 0) return 0;
  return fs::ns_of(about.st_mtim) / 1000;
}

bool is_old(const std::string& path, const Kept& kept, Duration age) {
  const auto used = std::max(changed_us(path), changed_us(path + kept.mark));
  return fs::walltime_us() - used > age.count();
}

std::uint64_t bytes_in(const std::string& folder) {
  using std::filesystem::recursive_directory_iterator;
  std::uint64_t bytes = 0;
  std::error_code error;
  for (recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    struct stat about{};
    if (::lstat(at->path().c_str(), &about) == 0)
      bytes += static_cast<std::uint64_t>(about.st_blocks) * 512;
  }
  return bytes;
}

class Sweep {
 public:
  Sweep(Kept kept, Duration age, const Used& used, Removing how)
      : kept_(std::move(kept)), age_(age), used_(used), how_(how) {}

  Result<Removed> run() {
    for (const auto& name : fs::entries(kept_.folder)) {
      const auto key = kept_.key_of(name);
      const auto path = kept_.folder + "/" + name;
      if (key.empty() || !is_old(path, kept_, age_)) continue;
      auto lock = fs::lock_file_now(path + ".lock");
      // Looked at again: whoever had the lock a moment ago may use it now.
      if (!lock || !is_old(path, kept_, age_)) continue;
      locked_.push_back({path, key, std::move(lock)});
      if (locked_.size() == kAtOnce) TRY_VOID(settle());
    }
    TRY_VOID(settle());
    TRY_VOID(remove_leftovers());
    return removed_;
  }

 private:
  /// What killed processes left, each under the lock of the folder it was to be; and locks of
  /// folders that are not there.
  Result<> remove_leftovers() {
    for (const auto& name : fs::entries(kept_.folder)) {
      const auto base = base_of_leftover(name);
      const auto path = kept_.folder + "/" + name, folder = kept_.folder + "/" + base;
      const bool is_lock = path == folder + ".lock";
      if (base.empty() || kept_.key_of(base).empty() || !is_old(path, kept_, age_)) continue;
      if (!is_lock) removed_.bytes += bytes_in(path);
      if (how_ == Removing::only_told || (is_lock && fs::exists(folder))) continue;
      const auto lock = fs::lock_file_now(folder + ".lock");
      if (!lock) continue;
      if (!is_lock) fs::remove_tree(path);
      if (!fs::exists(folder)) TRY_VOID(fs::remove_file(folder + ".lock"));
    }
    return {};
  }

  Result<> settle() {
    if (locked_.empty()) return {};
    TRY(const auto wanted, used_());
    for (const auto& [path, key, lock] : locked_)
      if (!wanted.contains(key)) TRY_VOID(remove(path));
    locked_.clear();
    return {};
  }

  /// The mark goes first: killed in the middle, the rest of it is not taken for whole.
  Result<> remove(const std::string& path) {
    ++removed_.folders;
    removed_.bytes += bytes_in(path);
    if (how_ == Removing::only_told) return {};
    TRY_VOID(fs::remove_file(path + kept_.mark));
    fs::remove_tree(path);
    return fs::remove_file(path + ".lock");
  }

  Kept kept_;
  Duration age_;
  const Used& used_;
  Removing how_;
  std::vector<Locked> locked_;
  Removed removed_;
};

}  // namespace

Result<Removed> remove_idle_trees(const std::string& trees, Duration age, const Used& used,
                                  Removing how) {
  return Sweep({trees, id_in, kBootMark}, age, used, how).run();
}

Result<Removed> remove_idle_venvs(const std::string& venvs, Duration age, const Used& used,
                                  Removing how) {
  return Sweep({venvs, venv_in, std::string("/") + kVenvMark}, age, used, how).run();
}

}  // namespace muster::snapshot
