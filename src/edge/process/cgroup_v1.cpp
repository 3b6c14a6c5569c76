#include "edge/process/cgroup_v1.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <ctime>

#include "base/text.hpp"
#include "edge/process/files.hpp"

namespace muster::process {
namespace {

std::int64_t number_in(const std::string& path) {
  const auto text = read_file(AT_FDCWD, path);
  std::int64_t value = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), value);
  return value;
}

std::int64_t oom_kills_in(const std::string& memory) {
  const auto text = read_file(AT_FDCWD, memory + "/memory.oom_control");
  if (!text) return 0;
  for (const auto line : split(*text, '\n'))
    if (line.starts_with("oom_kill ")) return std::atoll(std::string(line.substr(9)).c_str());
  return 0;
}

/// A job may have made cgroups of its own below its slot (a container runtime does).
void collect(const std::string& dir, std::set<int>& pids) {
  if (const auto text = read_file(AT_FDCWD, dir + "/cgroup.procs"))
    for (const auto line : split(*text, '\n'))
      if (const int pid = std::atoi(std::string(line).c_str()); pid > 0) pids.insert(pid);
  struct stat found{};
  if (::stat(dir.c_str(), &found) != 0 || found.st_nlink <= 2) return;
  DIR* listing = ::opendir(dir.c_str());
  if (listing == nullptr) return;
  while (const auto* entry = ::readdir(listing))
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
      collect(fmt::format("{}/{}", dir, entry->d_name), pids);
  ::closedir(listing);
}

void pause_briefly() {
  const timespec pause{0, 200'000};
  ::nanosleep(&pause, nullptr);
}

/// "7:memory:/user/1000" -> the path of one controller.
std::optional<std::string> own_path(std::string_view cgroup_file, std::string_view controller) {
  for (const auto line : split(cgroup_file, '\n')) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    for (const auto name : split(line.substr(first + 1, second - first - 1), ','))
      if (name == controller) return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

struct Mount {
  std::string root;
  std::string point;
};

/// Where the v1 hierarchy of one controller is mounted.
std::optional<Mount> mount_of(std::string_view mountinfo, std::string_view controller) {
  for (const auto line : split(mountinfo, '\n')) {
    const auto dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    const auto left = split(line.substr(0, dash), ' ');
    const auto right = split(line.substr(dash + 3), ' ');
    if (left.size() < 5 || right.size() < 3 || right[0] != "cgroup") continue;
    for (const auto option : split(right[2], ','))
      if (option == controller) return Mount{std::string(left[3]), std::string(left[4])};
  }
  return std::nullopt;
}

std::string own_dir(std::string_view mountinfo, std::string_view cgroup_file,
                    std::string_view controller) {
  const auto mount = mount_of(mountinfo, controller);
  auto path = own_path(cgroup_file, controller);
  if (!mount || !path) return {};
  // In a container the mount shows only a part of the hierarchy: its root is our "/".
  if (mount->root != "/") {
    if (!path->starts_with(mount->root)) return {};
    path = path->substr(mount->root.size());
  }
  return *path == "/" || path->empty() ? mount->point : mount->point + *path;
}

}  // namespace

std::vector<std::string> CgroupV1::join_files() const {
  // "tasks" and not "cgroup.procs": a single thread moving itself takes no machine-wide lock.
  std::vector<std::string> files;
  for (const auto& dir : slot_.dirs()) files.push_back(dir + "/tasks");
  return files;
}

Result<> CgroupV1::prepare(Bytes memory_limit) {
  if (!slot_.freezer.empty()) TRY_VOID(write_knob(slot_.freezer + "/freezer.state", "THAWED"));
  if (!slot_.memory.empty()) {
    const auto& dir = slot_.memory;
    // Memory with swap never below memory alone: up in one order, down in the other. Kernels
    // without swap accounting have no such file.
    (void)write_knob(dir + "/memory.memsw.limit_in_bytes", "-1");
    TRY_VOID(write_knob(dir + "/memory.limit_in_bytes", "-1"));
    if (memory_limit.count > 0) {
      const auto limit = std::to_string(memory_limit.count);
      TRY_VOID(write_knob(dir + "/memory.limit_in_bytes", limit));
      (void)write_knob(dir + "/memory.memsw.limit_in_bytes", limit);
    }
    TRY_VOID(write_knob(dir + "/memory.max_usage_in_bytes", "0"));
  }
  base_ = totals();
  // What the last user left in the page cache is not this one's memory.
  if (!slot_.memory.empty()) base_.peak_bytes = number_in(slot_.memory + "/memory.usage_in_bytes");
  return {};
}

Counters CgroupV1::totals() const {
  Counters out;
  if (!slot_.cpuacct.empty()) out.cpu_us = number_in(slot_.cpuacct + "/cpuacct.usage") / 1000;
  if (!slot_.memory.empty()) {
    out.peak_bytes = number_in(slot_.memory + "/memory.max_usage_in_bytes");
    out.oom_kills = oom_kills_in(slot_.memory);
  }
  return out;
}

Counters CgroupV1::counters() const {
  const auto now = totals();
  const auto since = [](std::int64_t a, std::int64_t b) {
    return std::max<std::int64_t>(0, a - b);
  };
  return {since(now.cpu_us, base_.cpu_us), since(now.peak_bytes, base_.peak_bytes),
          since(now.oom_kills, base_.oom_kills)};
}

std::set<int> CgroupV1::members() const {
  std::set<int> pids;
  for (const auto& dir : slot_.dirs()) collect(dir, pids);
  return pids;
}

bool CgroupV1::is_empty() const { return members().empty(); }

int CgroupV1::signal_all(int signal) {
  std::vector<std::pair<int, UniqueFd>> opened;
  for (const int pid : members())
    opened.emplace_back(pid, UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))));
  // Listed again after its descriptor was opened: then the descriptor is of a member, or of a
  // process that is gone; never of a stranger that got the number.
  const auto still = members();
  int reached = 0;
  for (const auto& [pid, fd] : opened)
    if (fd && still.contains(pid))
      reached += ::syscall(SYS_pidfd_send_signal, fd.get(), signal, nullptr, 0) == 0 ? 1 : 0;
  return reached;
}

void CgroupV1::freeze_and_wait() {
  if (slot_.freezer.empty()) return;
  const auto knob = slot_.freezer + "/freezer.state";
  // Not for ever: a process in an uninterruptible wait does not freeze. The kill goes out anyway.
  for (int i = 0; i < 100; ++i) {
    if (!write_knob(knob, "FROZEN")) return;
    const auto state = read_file(AT_FDCWD, knob);
    if (state && trimmed(*state) == "FROZEN") return;
    pause_briefly();
  }
}

int CgroupV1::kill_all() {
  if (members().empty()) return 0;
  freeze_and_wait();
  const int killed = signal_all(SIGKILL);
  if (!slot_.freezer.empty()) (void)write_knob(slot_.freezer + "/freezer.state", "THAWED");
  return killed;
}

Slot own_v1_dirs() {
  const auto mounts = read_file(AT_FDCWD, "/proc/self/mountinfo");
  const auto paths = read_file(AT_FDCWD, "/proc/self/cgroup");
  if (!mounts || !paths) return {};
  return {own_dir(*mounts, *paths, "memory"), own_dir(*mounts, *paths, "cpuacct"),
          own_dir(*mounts, *paths, "freezer")};
}

}  // namespace muster::process
