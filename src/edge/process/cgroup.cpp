#include "edge/process/cgroup.hpp"

#include <sys/file.h>

#include <cerrno>

#include "edge/process/cgroup_v1.hpp"
#include "edge/process/files.hpp"

namespace muster::process {
namespace {

class NoCgroup final : public Cgroup {
 public:
  std::vector<std::string> join_files() const override { return {}; }
  Result<> prepare(Bytes) override { return {}; }
  Counters counters() const override { return {}; }
  bool is_empty() const override { return true; }
  int signal_all(int) override { return 0; }
  int kill_all() override { return 0; }
};

}  // namespace

std::vector<std::string> Slot::dirs() const {
  std::vector<std::string> out;
  for (const auto* dir : {&freezer, &memory, &cpuacct})
    if (!dir->empty()) out.push_back(*dir);
  return out;
}

std::string_view tier_of(const Slot& slot) { return slot.exists() ? "cgroup v1" : "none"; }

std::unique_ptr<Cgroup> open_cgroup(const Slot& slot) {
  if (slot.exists()) return std::make_unique<CgroupV1>(slot);
  return std::make_unique<NoCgroup>();
}

Result<std::optional<UniqueFd>> lock_slot(const Slot& slot) {
  TRY(auto dir, open_dir(slot.dirs().front()));
  if (::flock(dir.get(), LOCK_EX | LOCK_NB) == 0) return std::optional<UniqueFd>(std::move(dir));
  if (errno == EWOULDBLOCK) return std::optional<UniqueFd>();
  return fail_errno(fmt::format("cannot lock {}", slot.dirs().front()), errno);
}

}  // namespace muster::process
