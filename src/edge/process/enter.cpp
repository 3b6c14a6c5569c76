#include "edge/process/enter.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "edge/fs/files.hpp"
#include "edge/process/proc.hpp"

namespace muster::process {
namespace {

tl::unexpected<Error> no_process(int rank) {
  return fail(Kind::conflict, fmt::format("rank {} has no process here", rank),
              "it has not begun or has just ended: muster query shows which");
}

/// The rank's own process has children with the same variables: it is the one whose parent has not,
/// and of those the oldest.
std::optional<ProcessId> topmost(const std::vector<ProcessId>& marked) {
  const auto is_marked = [&](pid_t pid) {
    return std::any_of(marked.begin(), marked.end(),
                       [&](const ProcessId& id) { return id.pid == pid; });
  };
  std::optional<ProcessId> best;
  for (const auto& id : marked) {
    const auto row = row_of(id.pid);
    if (!row || row->id != id || is_marked(row->parent)) continue;
    if (!best || id.start_ticks < best->start_ticks) best = id;
  }
  return best;
}

/// A namespace of that process, where it is not ours already.
Result<UniqueFd> other_namespace(pid_t pid, const char* kind) {
  struct stat ours{}, theirs{};
  const auto path = fmt::format("/proc/{}/ns/{}", pid, kind);
  if (::stat(path.c_str(), &theirs) != 0)
    return fail_errno(fmt::format("cannot see {}", path), errno);
  if (::stat(fmt::format("/proc/self/ns/{}", kind).c_str(), &ours) == 0 &&
      ours.st_ino == theirs.st_ino)
    return UniqueFd();
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno(fmt::format("cannot open {}", path), errno);
  return fd;
}

Result<UniqueFd> folder_of(pid_t pid, const char* which) {
  UniqueFd fd(
      ::open(fmt::format("/proc/{}/{}", pid, which).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno("cannot go to the folder of the job", errno);
  return fd;
}

/// Into its mounts and its folder. Who made a namespace of mounts without being root made one of
/// users around it. A namespace has a root of its own, which need not be the process's: both
/// folders are opened from here, where its number means it.
Result<> enter_place(pid_t pid) {
  TRY(const auto users, other_namespace(pid, "user"));
  TRY(const auto mounts, other_namespace(pid, "mnt"));
  TRY(const auto root, folder_of(pid, "root"));
  TRY(const auto folder, folder_of(pid, "cwd"));
  for (const auto* fd : {&users, &mounts})
    if (*fd && ::setns(fd->get(), 0) != 0)
      return fail_errno("cannot enter the mounts of the job", errno);
  if (mounts && (::fchdir(root.get()) != 0 || ::chroot(".") != 0))
    return fail_errno("cannot enter the root of the job", errno);
  if (::fchdir(folder.get()) != 0) return fail_errno("cannot go to the folder of the job", errno);
  return {};
}

Result<> join(const std::string& file) {
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd || ::write(fd.get(), "0", 1) != 1)
    return fail_errno(fmt::format("cannot enter the cgroup of the job ({})", file), errno);
  return {};
}

}  // namespace

Result<RankPlace> find_rank(std::string_view job, int attempt, int rank) {
  const auto found = topmost(
      marked_processes({fmt::format("MUSTER_JOB_ID={}", job),
                        fmt::format("MUSTER_ATTEMPT={}", attempt), fmt::format("RANK={}", rank)}));
  if (!found) return no_process(rank);
  RankPlace place{.pid = found->pid, .env = {}};
  const auto text = fs::read_file(fmt::format("/proc/{}/environ", place.pid));
  // Read, and still the same process: they are its own.
  const auto row = row_of(place.pid);
  if (!text || !row || row->id != *found) return no_process(rank);
  for (const auto entry : split(*text, '\0'))
    if (const auto equals = entry.find('='); equals != std::string_view::npos)
      place.env.try_emplace(std::string(entry.substr(0, equals)), entry.substr(equals + 1));
  return place;
}

Result<ExecFailure> become_neighbour(const RankPlace& place, const std::vector<std::string>& joins,
                                     const std::vector<std::string>& argv) {
  for (const auto& file : joins) TRY_VOID(join(file));
  TRY_VOID(enter_place(place.pid));
  char dir[PATH_MAX];
  auto env = place.env;
  if (::getcwd(dir, sizeof dir) != nullptr) env["PWD"] = dir;
  std::vector<std::string> pairs;
  for (const auto& [name, value] : env) pairs.push_back(name + "=" + value);
  close_from(STDERR_FILENO + 1);
  return exec_program(argv, pairs);
}

}  // namespace muster::process
