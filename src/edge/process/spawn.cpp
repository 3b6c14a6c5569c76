#include "edge/process/spawn.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "edge/process/files.hpp"

namespace muster::process {
namespace {

constexpr int kReportFd = 3;
/// First byte of the report: whose fault it is.
constexpr char kOurs = 'm';
constexpr char kTheirs = 'p';

struct LimitName {
  std::string_view name;
  int resource;
};
constexpr LimitName kLimits[] = {
    {"as", RLIMIT_AS},           {"core", RLIMIT_CORE},         {"cpu", RLIMIT_CPU},
    {"data", RLIMIT_DATA},       {"fsize", RLIMIT_FSIZE},       {"locks", RLIMIT_LOCKS},
    {"memlock", RLIMIT_MEMLOCK}, {"msgqueue", RLIMIT_MSGQUEUE}, {"nice", RLIMIT_NICE},
    {"nofile", RLIMIT_NOFILE},   {"nproc", RLIMIT_NPROC},       {"rss", RLIMIT_RSS},
    {"rtprio", RLIMIT_RTPRIO},   {"rttime", RLIMIT_RTTIME},     {"sigpending", RLIMIT_SIGPENDING},
    {"stack", RLIMIT_STACK}};

const LimitName* limit_named(std::string_view name) {
  for (const auto& row : kLimits)
    if (row.name == name) return &row;
  return nullptr;
}

/// Soft limits up to the hard one; a submitter whose hard limit was higher gets what there is.
void set_limits(const std::map<std::string, std::int64_t>& limits) {
  for (const auto& [name, value] : limits) {
    const auto* row = limit_named(name);
    rlimit limit{};
    if (row == nullptr || ::getrlimit(static_cast<__rlimit_resource>(row->resource), &limit) != 0)
      continue;
    const auto wanted = value < 0 ? RLIM_INFINITY : static_cast<rlim_t>(value);
    limit.rlim_cur = std::min(wanted, limit.rlim_max);
    ::setrlimit(static_cast<__rlimit_resource>(row->resource), &limit);
  }
}

void reset_signals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// So that the kernel, short of memory, takes the job before its supervisor.
void raise_oom_score() {
  const auto now = read_file(AT_FDCWD, "/proc/self/oom_score_adj");
  const int score = now ? std::atoi(now->c_str()) : 0;
  (void)write_knob("/proc/self/oom_score_adj", std::to_string(std::min(1000, score + 500)));
}

/// Descriptors 0, 1, 2 and the report; nothing else is left open.
void place_descriptors(const std::array<int, 3>& stdio, int report) {
  // First out of the way: a source may itself sit on a number that is wanted.
  std::array<int, 3> high{};
  for (std::size_t i = 0; i < 3; ++i) high[i] = ::fcntl(stdio[i], F_DUPFD, 10);
  const int high_report = ::fcntl(report, F_DUPFD, 10);
  for (std::size_t i = 0; i < 3; ++i) ::dup2(high[i], static_cast<int>(i));
  ::dup2(high_report, kReportFd);
  ::fcntl(kReportFd, F_SETFD, FD_CLOEXEC);
  close_from(kReportFd + 1);
}

[[noreturn]] void report(char whose, int exit, const std::string& why) {
  (void)write_all(kReportFd, fmt::format("{}{:03}{}", whose, exit, why));
  ::_exit(exit);
}

[[noreturn]] void become(const SpawnOrder& order, int report_fd, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(125);  // the caller died before the line above
  place_descriptors(order.stdio, report_fd);
  for (const auto& file : order.cgroup_files)
    if (const auto joined = write_knob(file, "0"); !joined)
      report(kOurs, 126, to_line(joined.error()));
  raise_oom_score();
  ::setpgid(0, 0);
  if (order.nice != 0) ::setpriority(PRIO_PROCESS, 0, order.nice);
  ::umask(static_cast<mode_t>(order.umask));
  if (!order.dir.empty() && ::chdir(order.dir.c_str()) != 0)
    report(kTheirs, 126, fmt::format("cwd {}: {}", printable(order.dir), std::strerror(errno)));
  std::vector<std::string> env;
  env.reserve(order.env.size());
  for (const auto& [name, value] : order.env) env.push_back(name + "=" + value);
  reset_signals();
  set_limits(order.limits);
  const auto failure = exec_program(order.argv, env);
  report(kTheirs, failure.exit, failure.why);
}

/// Everything the child said before it became the program, which closed the pipe.
std::string read_report(int fd) {
  std::string text;
  char piece[4096];
  for (;;) {
    const auto got = ::read(fd, piece, sizeof piece);
    if (got > 0)
      text.append(piece, static_cast<std::size_t>(got));
    else if (got == 0 || errno != EINTR)
      return text;
  }
}

}  // namespace

Result<Spawned> spawn(const SpawnOrder& order) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("cannot make a pipe", errno);
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const pid_t self = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("cannot start another process", errno);
  if (pid == 0) become(order, write_end.get(), self);
  write_end.reset();
  const auto text = read_report(read_end.get());
  if (text.size() < 4) return Spawned{pid, {}};
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (text.front() == kOurs) return fail(Kind::unavailable, text.substr(4));
  return Spawned{0, {std::atoi(text.substr(1, 3).c_str()), text.substr(4)}};
}

std::optional<std::int64_t> soft_limit(const std::string& name) {
  const auto* row = limit_named(name);
  rlimit limit{};
  if (row == nullptr || ::getrlimit(static_cast<__rlimit_resource>(row->resource), &limit) != 0)
    return std::nullopt;
  return limit.rlim_cur == RLIM_INFINITY ? -1 : static_cast<std::int64_t>(limit.rlim_cur);
}

}  // namespace muster::process
