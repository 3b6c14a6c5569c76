#include "edge/process/proc.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <map>
#include <memory>
#include <set>

#include "base/text.hpp"
#include "edge/process/files.hpp"

namespace muster::process {
namespace {

std::vector<pid_t> all_pids() {
  std::vector<pid_t> pids;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), ::closedir);
  if (!proc) return pids;
  while (const auto* entry = ::readdir(proc.get())) {
    const std::string_view name = entry->d_name;
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc() && end == name.data() + name.size()) pids.push_back(pid);
  }
  return pids;
}

template <class T>
T number_of(std::string_view text) {
  T value{};
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

bool has_all(std::string_view environ, const std::vector<std::string>& marks) {
  std::size_t found = 0;
  for (const auto entry : split(environ, '\0'))
    for (const auto& mark : marks) found += entry == mark ? 1 : 0;
  return found >= marks.size();
}

bool is_marked(pid_t pid, const std::vector<std::string>& marks) {
  const auto environ = read_file(AT_FDCWD, fmt::format("/proc/{}/environ", pid));
  return environ && has_all(*environ, marks);
}

}  // namespace

std::string boot_id() {
  const auto text = read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id");
  return text ? std::string(trimmed(*text)) : std::string();
}

std::optional<ProcessRow> row_of(pid_t pid) {
  const auto stat = read_file(AT_FDCWD, fmt::format("/proc/{}/stat", pid));
  if (!stat) return std::nullopt;
  // The name is in parentheses and may hold anything, so fields are counted from the last one.
  const auto close = stat->rfind(')');
  if (close == std::string::npos) return std::nullopt;
  const auto fields = split(std::string_view(*stat).substr(close + 2), ' ');
  if (fields.size() < 20) return std::nullopt;
  return ProcessRow{{pid, number_of<std::uint64_t>(fields[19])},
                    number_of<pid_t>(fields[1]),
                    fields[0].empty() ? '?' : fields[0].front()};
}

std::vector<ProcessRow> all_processes() {
  std::vector<ProcessRow> rows;
  for (const auto pid : all_pids())
    if (const auto row = row_of(pid)) rows.push_back(*row);
  return rows;
}

std::vector<ProcessId> descendants_of(pid_t root) {
  std::multimap<pid_t, ProcessRow> by_parent;
  for (const auto& row : all_processes()) by_parent.emplace(row.parent, row);
  std::vector<ProcessId> found;
  std::vector<pid_t> open{root};
  std::set<pid_t> seen{root};
  while (!open.empty()) {
    const auto parent = open.back();
    open.pop_back();
    const auto [begin, end] = by_parent.equal_range(parent);
    for (auto at = begin; at != end; ++at) {
      const auto& row = at->second;
      // The walk is not a snapshot: a pid that came again meanwhile must not make a loop.
      if (!seen.insert(row.id.pid).second) continue;
      if (row.state != 'Z') found.push_back(row.id);
      open.push_back(row.id.pid);
    }
  }
  return found;
}

UniqueFd open_process(ProcessId id) {
  UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, id.pid, 0)));
  if (!fd) return fd;
  const auto row = row_of(id.pid);
  if (!row || row->id != id) fd.reset();
  return fd;
}

bool send_signal(ProcessId id, int signal) {
  const auto fd = open_process(id);
  return fd && ::syscall(SYS_pidfd_send_signal, fd.get(), signal, nullptr, 0) == 0;
}

std::vector<std::string> markers(std::string_view home_id, std::string_view job, int attempt,
                                 int node) {
  return {fmt::format("MUSTER_HOME_ID={}", home_id), fmt::format("MUSTER_JOB_ID={}", job),
          fmt::format("MUSTER_ATTEMPT={}", attempt), fmt::format("MUSTER_NODE_INDEX={}", node)};
}

std::vector<ProcessId> marked_processes(const std::vector<std::string>& marks) {
  std::vector<ProcessId> found;
  const auto self = ::getpid();
  for (const auto pid : all_pids()) {
    struct stat owner{};
    if (pid == self || ::stat(fmt::format("/proc/{}", pid).c_str(), &owner) != 0) continue;
    if (owner.st_uid != ::geteuid()) continue;
    const auto before = row_of(pid);
    if (!before || before->state == 'Z' || !is_marked(pid, marks)) continue;
    // The environment read belongs to this process only if it is still the same one.
    const auto after = row_of(pid);
    if (after && after->id == before->id) found.push_back(before->id);
  }
  return found;
}

}  // namespace muster::process
