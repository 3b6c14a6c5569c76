#include "edge/process/slot_pool.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "edge/process/cgroup_v1.hpp"
#include "edge/process/files.hpp"

namespace muster::process {
namespace {

/// Page cache a finished job left charged to its slot, above which it is given back.
constexpr std::int64_t kCacheWorthFreeing = 4 << 20;
/// Old slots tried per acquisition, so that a thousand held ones do not slow down each launch.
constexpr std::size_t kOldTried = 4;

bool made(const std::string& dir) { return ::mkdir(dir.c_str(), 0755) == 0 || errno == EEXIST; }

/// Somebody may tidy up empty cgroups by hand; a lock on a removed one is worth nothing.
bool is_there(const Slot& slot) {
  const auto dirs = slot.dirs();
  return std::all_of(dirs.begin(), dirs.end(),
                     [](const auto& dir) { return ::access(dir.c_str(), F_OK) == 0; });
}

/// The directory for all slots of this home in one hierarchy; empty when it cannot be had.
std::string base_in(const std::string& own, const std::string& name) {
  if (own.empty()) return {};
  const auto dir = fmt::format("{}/{}", own, name);
  if (!made(dir) || ::access((dir + "/cgroup.procs").c_str(), W_OK) != 0) return {};
  return dir;
}

std::string home8(std::string_view home_id) {
  std::string name;
  for (const char c : home_id.substr(0, 8))
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  return "muster-" + name;
}

/// All jobs together leave the machine a twentieth of its memory.
void limit_all_jobs(const std::string& memory_dir) {
  const auto pages = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES));
  const auto bytes = pages * ::sysconf(_SC_PAGESIZE);
  (void)write_knob(memory_dir + "/memory.limit_in_bytes", std::to_string(bytes / 20 * 19));
}

std::deque<int> slots_in(const std::string& dir) {
  std::deque<int> found;
  DIR* listing = ::opendir(dir.c_str());
  if (listing == nullptr) return found;
  while (const auto* entry = ::readdir(listing)) {
    const std::string_view name = entry->d_name;
    int number = 0;
    if (!name.starts_with('s')) continue;
    const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), number);
    if (error == std::errc() && end == name.data() + name.size()) found.push_back(number);
  }
  ::closedir(listing);
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

SlotPool::SlotPool(std::string_view home_id, TierChoice choice) {
  if (choice == TierChoice::none) return;
  const auto own = own_v1_dirs();
  const auto name = home8(home_id);
  base_ = {base_in(own.memory, name), base_in(own.cpuacct, name), base_in(own.freezer, name)};
  if (!base_.memory.empty()) limit_all_jobs(base_.memory);
  if (!base_.exists()) return;
  for (const auto& dir : base_.dirs())
    for (const int number : slots_in(dir))
      if (std::find(old_.begin(), old_.end(), number) == old_.end()) old_.push_back(number);
  for (const int number : old_) next_ = std::max(next_, number + 1);
}

SlotPool::~SlotPool() {
  for (std::size_t i = 0, count = old_.size(); i < count; ++i)
    if (auto held = recycle_old(1)) free_.push_back(std::move(*held));
  for (const auto& held : free_)
    for (const auto& dir : held.slot.dirs()) ::rmdir(dir.c_str());
  for (const auto& dir : base_.dirs()) ::rmdir(dir.c_str());  // refused while slots are in use
}

Slot SlotPool::numbered(int number) const {
  const auto in = [&](const std::string& base) {
    return base.empty() ? std::string() : fmt::format("{}/s{}", base, number);
  };
  return {in(base_.memory), in(base_.cpuacct), in(base_.freezer)};
}

std::optional<HeldSlot> SlotPool::recycle_old(std::size_t most) {
  const auto tries = std::min(old_.size(), most);
  for (std::size_t i = 0; i < tries; ++i) {
    const int number = old_.front();
    old_.pop_front();
    auto slot = numbered(number);
    for (const auto& dir : slot.dirs()) made(dir);
    auto lock = lock_slot(slot);
    if (lock && *lock && open_cgroup(slot)->is_empty())
      return HeldSlot{std::move(slot), std::move(**lock)};
    old_.push_back(number);
  }
  return std::nullopt;
}

Result<HeldSlot> SlotPool::acquire() {
  if (!base_.exists()) return HeldSlot{};
  while (!free_.empty()) {
    auto held = std::move(free_.front());
    free_.pop_front();
    if (is_there(held.slot) && open_cgroup(held.slot)->is_empty()) return held;
  }
  if (auto held = recycle_old(kOldTried)) return std::move(*held);
  for (int tries = 0; tries < 100; ++tries) {
    auto slot = numbered(next_++);
    for (const auto& dir : slot.dirs())
      if (!made(dir)) return fail_errno(fmt::format("cannot make the cgroup {}", dir), errno);
    TRY(auto lock, lock_slot(slot));
    if (lock) return HeldSlot{std::move(slot), std::move(*lock)};
  }
  return fail(Kind::exhausted, "every cgroup slot is held by somebody else");
}

void SlotPool::release(HeldSlot held) {
  if (!held.slot.exists() || !open_cgroup(held.slot)->is_empty()) return;
  const auto& memory = held.slot.memory;
  if (!memory.empty()) {
    const auto usage = read_file(AT_FDCWD, memory + "/memory.usage_in_bytes");
    if (usage && std::atoll(usage->c_str()) > kCacheWorthFreeing)
      (void)write_knob(memory + "/memory.force_empty", "0");
  }
  free_.push_back(std::move(held));
}

}  // namespace muster::process
