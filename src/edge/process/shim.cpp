#include "edge/process/shim.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

#include <cerrno>
#include <climits>
#include <csignal>

#include "edge/process/attempt_dir.hpp"
#include "edge/process/background_work.hpp"
#include "edge/process/clocks.hpp"
#include "edge/process/control.hpp"
#include "edge/process/exit_file.hpp"
#include "edge/process/files.hpp"
#include "edge/process/job_folder.hpp"
#include "edge/process/node_setup.hpp"
#include "edge/process/proc.hpp"
#include "edge/process/rank_table.hpp"
#include "edge/process/spawn.hpp"
#include "edge/process/tree.hpp"

namespace muster {
namespace process {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kForEver = Duration::max();
constexpr Duration kLockPatience = milliseconds(100);  // an observer may hold it for an instant
constexpr Duration kMoment = milliseconds(250);
constexpr Duration kDrain = seconds(5);
constexpr Duration kAckPatience = seconds(1);
constexpr Duration kRetryRecord = seconds(1);
constexpr Duration kSweepPause = milliseconds(20);
constexpr Duration kSlowSweep = milliseconds(500);  // something cannot be killed just now

/// A session of its own, heir of its orphans, deaf to what ends sessions. Gives the descriptor on
/// which SIGCHLD and SIGTERM arrive.
Result<UniqueFd> become_supervisor() {
  ::setsid();
  ::umask(077);
  ::prctl(PR_SET_NAME, "muster-shim");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (const int signal : {SIGHUP, SIGINT, SIGPIPE, SIGXFSZ}) ::signal(signal, SIG_IGN);
  for (const int signal : {SIGCHLD, SIGTERM}) ::signal(signal, SIG_DFL);
  sigset_t waited;
  sigemptyset(&waited);
  sigaddset(&waited, SIGCHLD);
  sigaddset(&waited, SIGTERM);
  ::sigprocmask(SIG_SETMASK, &waited, nullptr);
  UniqueFd fd(::signalfd(-1, &waited, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return fail_errno("cannot wait for signals", errno);
  return fd;
}

/// No core of ours; the job keeps the limit it would have had.
void leave_no_core(Plan& plan) {
  if (const auto limit = soft_limit("core")) plan.limits.emplace("core", *limit);
  rlimit core{};
  ::getrlimit(RLIMIT_CORE, &core);
  core.rlim_cur = 0;
  ::setrlimit(RLIMIT_CORE, &core);
}

/// Which end of the attempt this is; the word stands first in the record.
std::string_view cause_of(const Error& error) {
  if (error.where == "setup") return name_of(Cause::setup_failed);
  if (error.kind == Kind::corrupt) return name_of(Cause::corrupt_input);
  if (error.kind == Kind::exhausted) return name_of(Cause::disk_full);
  return name_of(Cause::never_started);
}

Result<> make_dir(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return fail_errno(fmt::format("cannot make {}", path), errno);
}

class Shim {
 public:
  Shim(NodeOrder& order, UniqueFd dir, UniqueFd lock, UniqueFd signals, UniqueFd link)
      : order_(order),
        dir_(std::move(dir)),
        lock_(std::move(lock)),
        signals_(std::move(signals)),
        control_(std::move(link), dir_.get()),
        cgroup_(open_cgroup(order.slot)),
        tree_(*cgroup_),
        ranks_(order, [this](int rank) { return std::make_unique<RankLog>(dir_.get(), rank); }),
        folder_(attempt_dir(order.home, order.plan.ref, order.node), order.plan) {}

  int run() {
    const auto ready = prepare();
    if (!ready) return refuse(ready.error());
    turn(Duration(0));  // a stop may have come before the start
    const auto made = make_folder();
    if (!made || !killed_by_.empty()) clear_tree();  // what a set-up left running
    if (!made && killed_by_.empty()) return refuse(made.error());
    if (killed_by_.empty()) {
      const auto started = ranks_.start_all(*cgroup_);
      if (!started) return refuse(started.error());
      supervise();
    }
    // What is not kept is gone when the job has ended; taking a mount down can wait until then.
    const auto keep = order_.plan.folder.keep;
    if (keep != Keep::all) folder_.leave(keep);
    conclude();
    if (keep == Keep::all) folder_.leave(keep);
    return 0;
  }

 private:
  Result<> prepare();
  Result<> make_folder();
  void await(BackgroundWork& work);
  int refuse(const Error& error);
  void supervise();
  void clear_tree();
  void drain();
  void conclude();

  void turn(Duration until, int also = -1);
  void wait_until(Duration until);
  void obey(const Asked& asked);
  void begin_stop(const std::string& why, Duration grace);
  void deliver(int signal);
  void tell_how_it_stands();
  void look_for_failure();
  Duration next_deadline() const;

  NodeOrder& order_;
  UniqueFd dir_;
  UniqueFd lock_;
  UniqueFd signals_;
  Control control_;
  std::unique_ptr<Cgroup> cgroup_;
  ProcessTree tree_;
  RankTable ranks_;
  JobFolder folder_;
  ExitFile exit_file_;

  std::string preparing_;  // with what, when that takes a while
  bool is_running_ = false;
  bool is_acknowledged_ = false;
  bool is_failure_told_ = false;
  std::string killed_by_;
  int handed_on_ = 0;
  std::optional<ExitRecord> record_;
  Duration time_limit_ = kForEver;  // monotonic
  Duration kill_at_ = kForEver;     // when the grace is over
};

Result<> Shim::prepare() {
  TRY(exit_file_, ExitFile::reserve(dir_.get(), order_.plan.nodes.front().ranks.size()));
  TRY_VOID(within(cgroup_->prepare(order_.plan.memory_limit), "preparing the job's cgroup"));
  for (const auto& folder : order_.plan.folders) TRY_VOID(make_dir(folder));
  // A set-up runs before there are ranks: a sweep must know its processes as well.
  const auto& ref = order_.plan.ref;
  for (const auto& one : markers(order_.home_id, ref.job.str(), ref.attempt, order_.node)) {
    const auto equals = one.find('=');
    order_.plan.env[one.substr(0, equals)] = one.substr(equals + 1);
  }
  const auto self = row_of(::getpid());
  const ShimMark mark{.build_id = order_.build_id,
                      .attempt = order_.plan.ref.attempt,
                      .epoch = order_.plan.epoch,
                      .pid = ::getpid(),
                      .start_ticks = self ? self->id.start_ticks : 0,
                      .boot_id = boot_id(),
                      .slot = order_.slot};
  return write_renamed(dir_.get(), "shim.json", to_json(mark));
}

/// The job's own folder, where it has a snapshot. Slow work is done by a child: this process stays
/// to be told to stop.
Result<> Shim::make_folder() {
  if (order_.plan.folder.snapshot.empty() || !killed_by_.empty()) return {};
  for (auto step = folder_.first_step(); step;) {
    TRY(auto work, BackgroundWork::begin(std::move(*step)));
    await(work);
    if (!killed_by_.empty()) return {};  // the work is killed as it goes
    TRY_VOID(work.outcome());
    TRY(step, folder_.next_step());
  }
  use_setup(order_.plan.env, attempt_dir(order_.home, order_.plan.ref, order_.node));
  order_.plan.dir = folder_.working_folder();
  order_.plan.env["PWD"] = order_.plan.dir;
  return {};
}

/// Until it is over or somebody says stop. What takes longer than a moment is told.
void Shim::await(BackgroundWork& work) {
  auto tell_at = monotonic_now() + kMoment;
  while (!work.is_over() && killed_by_.empty()) {
    turn(tell_at, work.fd());
    if (monotonic_now() < tell_at) continue;
    tell_at = kForEver;
    preparing_ = folder_.doing();
    control_.say({.say = "preparing", .why = preparing_});
  }
  preparing_.clear();
}

/// Nothing was run, and nothing may be: an order still on its way from a server that has died
/// finds the record. Where even that cannot be written, the mark is taken back.
int Shim::refuse(const Error& error) {
  ExitRecord record{.ranks = {},
                    .killed_by = fmt::format("{}: {}", cause_of(error), to_line(error)),
                    .why = "it was never started"};
  if (exit_file_.publish(exit_text(record, order_.plan.ref.attempt, order_.plan.epoch))) {
    exit_file_.sync();
    record_ = std::move(record);
    control_.say({.say = "ended", .record = record_});
    wait_until(monotonic_now() + kAckPatience);
    return 1;
  }
  ::unlinkat(dir_.get(), "shim.json", 0);
  exit_file_.discard();
  control_.say({.say = "refused", .why = to_line(error)});
  control_.flush(kAckPatience);
  return 1;
}

void Shim::supervise() {
  const auto started = monotonic_now();
  if (order_.plan.time_limit.count() > 0) time_limit_ = started + order_.plan.time_limit;
  is_running_ = true;
  if (!ranks_.first_failed()) control_.say({.say = "running"});
  look_for_failure();
  while (!ranks_.all_ended()) {
    turn(next_deadline());
    look_for_failure();
    const auto now = monotonic_now();
    if (now >= time_limit_) {
      time_limit_ = kForEver;
      begin_stop("time_limit", order_.plan.grace);
    }
    if (now >= kill_at_ && !ranks_.all_ended()) {
      tree_.kill_sweep();
      kill_at_ = now + kSweepPause;
    }
  }
  clear_tree();
  drain();
}

/// Whatever the ranks left behind goes too; an attempt with a process left is not over.
void Shim::clear_tree() {
  for (auto pause = Duration(500); !tree_.is_gone(); pause = std::min(pause * 2, kSlowSweep)) {
    tree_.kill_sweep();
    wait_until(monotonic_now() + pause);
  }
}

/// Only a stranger that was handed the pipe can still hold it; it is not waited for long.
void Shim::drain() {
  const auto until = monotonic_now() + kDrain;
  while (ranks_.has_open_pipes() && monotonic_now() < until) turn(until);
}

void Shim::conclude() {
  auto record =
      is_running_ ? ranks_.finish(cgroup_->counters(), order_.slot.exists()) : ExitRecord{};
  record.killed_by = killed_by_;
  record.handed_on = handed_on_;
  if (!is_running_) record.why = "stopped before it started";
  const auto text = exit_text(record, order_.plan.ref.attempt, order_.plan.epoch);
  record_ = std::move(record);
  auto written = exit_file_.publish(text);
  control_.say({.say = "ended", .record = record_});
  wait_until(monotonic_now() + kAckPatience);
  // Without a record the shim stays: it is the only one who knows.
  while (!written && !is_acknowledged_) {
    written = exit_file_.publish(text);
    if (!written) wait_until(monotonic_now() + kRetryRecord);
  }
  if (!is_acknowledged_) exit_file_.sync();
  control_.close();
}

/// One round: waits for something to happen (on `also` as well), reaps, pumps logs, listens to the
/// server.
void Shim::turn(Duration until, int also) {
  std::vector<pollfd> fds{{signals_.get(), POLLIN, 0}, {also, POLLIN, 0}};
  control_.add_to(fds);
  ranks_.add_to(fds);
  const auto left =
      until == kForEver ? Duration(-1) : std::max(Duration(0), until - monotonic_now());
  const auto ms = (left.count() + 999) / 1000;
  ::poll(fds.data(), fds.size(),
         left.count() < 0 ? -1 : static_cast<int>(std::min<std::int64_t>(ms, INT_MAX)));
  bool is_told_to_end = false;
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == sizeof info)
    is_told_to_end = is_told_to_end || info.ssi_signo == SIGTERM;
  // The machine is being shut down: the job gets its notice and its grace. Before the reaping: a
  // rank that ended in the same instant heard the same signal.
  if (is_told_to_end) begin_stop("shutdown", order_.plan.grace);
  ranks_.reap();  // before the server is heard: what ended by itself was not stopped
  ranks_.pump();
  const auto heard = control_.hear();
  if (heard.is_new_server) tell_how_it_stands();
  for (const auto& asked : heard.asked) obey(asked);
}

void Shim::wait_until(Duration until) {
  do turn(until);
  while (monotonic_now() < until && !is_acknowledged_ && (record_ || !tree_.is_gone()));
}

void Shim::obey(const Asked& asked) {
  if (asked.what == "ack") {
    is_acknowledged_ = record_.has_value();
    return;
  }
  if (asked.what == "stop") begin_stop(asked.why.empty() ? "stop" : asked.why, asked.grace);
  if (asked.what == "signal" && asked.signal > 0 && asked.signal < NSIG) {
    handed_on_ = asked.signal;
    deliver(asked.signal);
  }
  control_.say({.say = "done", .asked = asked.what});
}

/// The first reason stands; a later stop can only shorten the grace.
void Shim::begin_stop(const std::string& why, Duration grace) {
  if (record_ || (is_running_ && ranks_.all_ended())) return;
  const bool is_first = kill_at_ == kForEver;
  if (killed_by_.empty() && !ranks_.first_failed()) killed_by_ = why;
  if (is_first && is_running_) {
    deliver(SIGTERM);
    deliver(SIGCONT);  // a stopped process could not act on it
  }
  kill_at_ = std::min(kill_at_, monotonic_now() + grace);
}

void Shim::deliver(int signal) {
  switch (order_.plan.signal_to) {
    case SignalTo::main: return ranks_.signal_mains(signal);
    case SignalTo::group: return ranks_.signal_groups(signal);
    case SignalTo::all: return tree_.signal_all(signal);
  }
}

void Shim::tell_how_it_stands() {
  if (!preparing_.empty()) control_.say({.say = "preparing", .why = preparing_});
  if (is_running_) control_.say({.say = "running"});
  if (is_failure_told_) control_.say({.say = "rank_failed", .rank = *ranks_.first_failed()});
  if (record_) control_.say({.say = "ended", .record = record_});
}

/// One rank that failed takes the others of this node along; the server sees to other nodes. What
/// ends because it was told to is no failure.
void Shim::look_for_failure() {
  const auto rank = ranks_.first_failed();
  if (!rank || is_failure_told_ || !killed_by_.empty() || ranks_.all_ended()) return;
  is_failure_told_ = true;
  control_.say({.say = "rank_failed", .rank = *rank});
  begin_stop("", order_.plan.grace);
}

Duration Shim::next_deadline() const { return std::min(time_limit_, kill_at_); }

/// The attempt's lock, or nothing when somebody else has it.
Result<std::optional<UniqueFd>> take_lock(int dir_fd) {
  const auto until = monotonic_now() + kLockPatience;
  for (;;) {
    TRY(auto lock, lock_attempt(dir_fd, LockKind::own));
    if (lock || monotonic_now() >= until) return lock;
    const timespec pause{0, 2'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

bool exists(int dir_fd, const char* name) { return ::faccessat(dir_fd, name, F_OK, 0) == 0; }

/// Says why before anything was begun.
int refuse_early(UniqueFd link, const Error& error) {
  LineChannel channel(std::move(link));
  channel.send(to_line(Said{.say = "refused", .why = to_line(error)}));
  return 1;
}

}  // namespace
}  // namespace process

int run_shim(NodeOrder order, UniqueFd link, UniqueFd slot_lock) {
  using namespace process;
  auto signals = become_supervisor();
  if (!signals) return refuse_early(std::move(link), signals.error());
  auto dir = make_dirs(attempt_dir(order.home, order.plan.ref, order.node));
  if (!dir) return refuse_early(std::move(link), dir.error());
  auto lock = take_lock(dir->get());
  if (!lock) return refuse_early(std::move(link), lock.error());
  // At most once: whoever was here first has the attempt.
  if (!*lock || exists(dir->get(), "shim.json") || exists(dir->get(), "exit.json")) return 0;
  leave_no_core(order.plan);
  Shim shim(order, std::move(*dir), std::move(**lock), std::move(*signals), std::move(link));
  const int status = shim.run();
  slot_lock.reset();  // the slot was ours until here
  return status;
}

}  // namespace muster
