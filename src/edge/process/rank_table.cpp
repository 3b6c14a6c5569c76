#include "edge/process/rank_table.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>

#include "edge/process/clocks.hpp"
#include "edge/process/proc.hpp"
#include "edge/process/spawn.hpp"

namespace muster::process {
namespace {

constexpr std::size_t kPiece = 256 << 10;

std::int64_t cpu_us_of(const rusage& used) {
  const auto us = [](const timeval& t) { return std::int64_t{t.tv_sec} * 1'000'000 + t.tv_usec; };
  return us(used.ru_utime) + us(used.ru_stime);
}

/// The plan's variables, the rank's on top, and the marks by which a sweep knows its processes.
Environment environment_of(const NodeOrder& order, const RankPlan& rank) {
  Environment env = order.plan.env;
  for (const auto& [name, value] : rank.env) env[name] = value;
  const auto& ref = order.plan.ref;
  for (const auto& mark : markers(order.home_id, ref.job.str(), ref.attempt, order.node)) {
    const auto equals = mark.find('=');
    env[mark.substr(0, equals)] = mark.substr(equals + 1);
  }
  return env;
}

/// An input that has ended; an image need not have a /dev.
Result<UniqueFd> open_nothing() {
  UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (null) return null;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("cannot make a pipe", errno);
  ::close(ends[1]);
  return UniqueFd(ends[0]);
}

SpawnOrder spawn_order_of(const NodeOrder& order, const RankPlan& rank, const Cgroup& cgroup) {
  return {.argv = order.plan.argv,
          .env = environment_of(order, rank),
          .dir = order.plan.dir,
          .umask = order.plan.umask,
          .nice = order.plan.nice,
          .limits = order.plan.limits,
          .stdio = {},
          .cgroup_files = cgroup.join_files()};
}

}  // namespace

RankTable::RankTable(const NodeOrder& order, const MakeSink& make_sink) : order_(order) {
  for (const auto& plan : order.plan.nodes.front().ranks)
    ranks_.push_back({.plan = &plan,
                      .pid = 0,
                      .exit = {.rank = plan.rank},
                      .max_rss_bytes = 0,
                      .log = make_sink(plan.rank),
                      .pipes = {}});
}

Result<> RankTable::start_all(const Cgroup& cgroup) {
  bool is_first = true;
  for (auto& rank : ranks_) {
    const auto started = start(rank, cgroup);
    if (!started && is_first) return started;
    is_first = false;
    if (started) continue;
    // Others run already: this one counts as a rank that failed.
    if (why_.empty()) why_ = fmt::format("rank {}: {}", rank.plan->rank, to_line(started.error()));
    ended(rank, 126, 0);
  }
  return {};
}

Result<> RankTable::start(Rank& rank, const Cgroup& cgroup) {
  auto order = spawn_order_of(order_, *rank.plan, cgroup);
  TRY(const auto null, open_nothing());
  UniqueFd write_ends[2];
  for (int i = 0; i < 2; ++i) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("cannot make a pipe", errno);
    rank.pipes[i].reset(ends[0]);
    write_ends[i].reset(ends[1]);
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);  // the reading end alone
  }
  order.stdio = {null.get(), write_ends[0].get(), write_ends[1].get()};
  rank.exit.started = wall_now();
  TRY(const auto spawned, spawn(order));
  rank.pid = spawned.pid;
  if (spawned.pid > 0) return {};
  if (why_.empty()) why_ = spawned.failure.why;
  ended(rank, spawned.failure.exit, 0);
  return {};
}

void RankTable::ended(Rank& rank, int exit, int signal) {
  rank.pid = 0;
  rank.exit.exit = exit;
  rank.exit.signal = signal;
  rank.exit.ended = wall_now();
  rank.exit.ended_run_us = boot_now_us();
  if (rank.exit.failed() && !first_failed_) first_failed_ = rank.exit.rank;
}

void RankTable::reap() {
  for (;;) {
    int status = 0;
    rusage used{};
    const pid_t pid = ::wait4(-1, &status, WNOHANG, &used);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) return;
    for (auto& rank : ranks_)
      if (rank.pid == pid) {
        rank.exit.cpu_us = cpu_us_of(used);
        rank.max_rss_bytes = std::int64_t{used.ru_maxrss} * 1024;
        ended(rank, WIFEXITED(status) ? WEXITSTATUS(status) : 0,
              WIFSIGNALED(status) ? WTERMSIG(status) : 0);
      }
  }
}

// A pid that has not been waited for is still ours, so plain kill() cannot hit a stranger here.
void RankTable::signal_mains(int signal) const {
  for (const auto& rank : ranks_)
    if (rank.pid > 0) ::kill(rank.pid, signal);
}

void RankTable::signal_groups(int signal) const {
  for (const auto& rank : ranks_)
    if (rank.pid > 0) ::kill(-rank.pid, signal);
}

bool RankTable::all_ended() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const auto& rank) { return rank.pid == 0; });
}

void RankTable::add_to(std::vector<pollfd>& fds) const {
  for (const auto& rank : ranks_)
    for (const auto& pipe : rank.pipes)
      if (pipe) fds.push_back({pipe.get(), POLLIN, 0});
}

void RankTable::pump() {
  for (auto& rank : ranks_) {
    pump(rank, Stream::out);
    pump(rank, Stream::err);
  }
}

void RankTable::pump(Rank& rank, Stream stream) {
  auto& pipe = rank.pipes[static_cast<std::size_t>(stream)];
  if (!pipe) return;
  buffer_.resize(kPiece);
  const auto got = ::read(pipe.get(), buffer_.data(), buffer_.size());
  if (got > 0)
    rank.log->append(stream, {buffer_.data(), static_cast<std::size_t>(got)}, wall_now());
  else if (got == 0 || (errno != EAGAIN && errno != EINTR))
    pipe.reset();
}

bool RankTable::has_open_pipes() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const auto& rank) { return rank.pipes[0] || rank.pipes[1]; });
}

ExitRecord RankTable::finish(const Counters& counters, bool has_cgroup) {
  ExitRecord record{.ranks = {}, .killed_by = {}, .why = why_};
  std::int64_t known_cpu_us = 0;
  for (auto& rank : ranks_) {
    rank.log->finish(wall_now());
    if (const auto lost = rank.log->lost(); !lost.empty())
      record.why +=
          (record.why.empty() ? "" : "; ") + fmt::format("rank {}: {}", rank.exit.rank, lost);
    rank.exit.out_bytes = rank.log->bytes(Stream::out);
    rank.exit.err_bytes = rank.log->bytes(Stream::err);
    rank.exit.out_xxh3 = rank.log->xxh3(Stream::out);
    rank.exit.err_xxh3 = rank.log->xxh3(Stream::err);
    if (!has_cgroup) rank.exit.peak_bytes = rank.max_rss_bytes;
    known_cpu_us += rank.exit.cpu_us;
    record.ranks.push_back(rank.exit);
  }
  if (!has_cgroup || record.ranks.empty()) return record;
  // What the kernel counts for the node as a whole stands with its first rank, so that sums over
  // ranks are right: cpu that no rank waited for, the peak, and the kills.
  auto& first = record.ranks.front();
  first.cpu_us += std::max<std::int64_t>(0, counters.cpu_us - known_cpu_us);
  first.peak_bytes = counters.peak_bytes;
  first.oom_kills = counters.oom_kills;
  return record;
}

}  // namespace muster::process
