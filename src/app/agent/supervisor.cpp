#include "app/agent/supervisor.hpp"

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>

#include "app/agent/code.hpp"
#include "app/agent/pod_output.hpp"
#include "app/agent/record.hpp"
#include "app/agent/setup_tail.hpp"
#include "base/text.hpp"
#include "edge/fs/files.hpp"
#include "edge/process/background_work.hpp"
#include "edge/process/clocks.hpp"
#include "edge/process/container_counters.hpp"
#include "edge/process/control.hpp"
#include "edge/process/files.hpp"
#include "edge/process/node_setup.hpp"
#include "edge/process/rank_table.hpp"
#include "edge/process/tree.hpp"

namespace muster::agent {
namespace {

using process::monotonic_now;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kForEver = Duration::max();
constexpr Duration kSweepPause = milliseconds(20);
constexpr Duration kSlowSweep = milliseconds(500);  // something cannot be killed just now
constexpr Duration kTailPause = milliseconds(200);  // between looks at a set-up's log
constexpr Duration kDrain = seconds(5);             // for pipes that strangers hold
constexpr Duration kLastWords = seconds(30);        // for a reader of the pod's log

/// Heir of its orphans. Gives the descriptor on which SIGCHLD, SIGTERM and SIGINT arrive.
Result<UniqueFd> become_supervisor() {
  ::umask(077);
  ::prctl(PR_SET_NAME, "muster-agent");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (const int signal : {SIGHUP, SIGPIPE, SIGXFSZ}) ::signal(signal, SIG_IGN);
  sigset_t waited;
  sigemptyset(&waited);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT}) {
    ::signal(signal, SIG_DFL);
    sigaddset(&waited, signal);
  }
  ::sigprocmask(SIG_SETMASK, &waited, nullptr);
  UniqueFd fd(::signalfd(-1, &waited, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return fail_errno("cannot wait for signals", errno);
  return fd;
}

/// Which end of the attempt this is; the word stands first in the record.
std::string refusal_of(const Error& error) {
  if (error.where == "barrier")
    return fmt::format("{}: {}{}", name_of(Cause::barrier_timeout), error.what,
                       error.why.empty() ? "" : fmt::format(" ({})", error.why));
  const auto cause = error.where == "setup"          ? Cause::setup_failed
                     : error.kind == Kind::corrupt   ? Cause::corrupt_input
                     : error.kind == Kind::exhausted ? Cause::disk_full
                                                     : Cause::never_started;
  return fmt::format("{}: {}", name_of(cause), to_line(error));
}

class Supervisor {
 public:
  Supervisor(NodeOrder& order, const BarrierPlan& barrier, const RankOptions& options,
             UniqueFd run_dir, UniqueFd signals)
      : order_(order),
        barrier_(barrier),
        options_(options),
        run_dir_(std::move(run_dir)),
        signals_(std::move(signals)),
        control_(UniqueFd(), run_dir_.get()),
        cgroup_(process::open_cgroup({})),
        counters_(process::is_first_process()
                      ? std::optional<process::ContainerCounters>(std::in_place)
                      : std::nullopt),
        tree_(*cgroup_),
        output_(STDOUT_FILENO),
        setup_(options.places.run() + "/" + process::kSetupLog,
               order.plan.nodes.front().ranks.front().rank, output_),
        ranks_(order, [this](int rank) {
          auto log = std::make_unique<PodRankLog>(output_, rank);
          logs_.push_back(log.get());
          return log;
        }) {}

  Result<ExitRecord> run() {
    turn(Duration(0));  // listens from here on; a stop may have come already
    auto ready = prepare();
    if (ready && killed_by_.empty()) {
      state_ = "running";
      ready = ranks_.start_all(*cgroup_);
      has_started_ = ready.has_value();
      if (ready) watch();
    }
    clear_tree();
    auto record = conclude(ready);
    state_ = "ended";
    auto left = leave(record);  // first: who waits for a slow reader may be killed meanwhile
    if (!send_last_words(record)) left = leave(record);
    control_.close();
    TRY_VOID(left);
    return record;
  }

 private:
  Result<> prepare();
  Result<> make_folders();
  void give_code_to_others();
  Result<> work(std::function<Result<>()> what);
  void watch();
  void clear_tree();
  void drain();
  ExitRecord conclude(const Result<>& ready);
  bool send_last_words(ExitRecord& record);
  Result<> leave(const ExitRecord& record) const {
    return leave_record(record, order_.plan.ref, order_.plan.epoch, options_);
  }

  void turn(Duration until, int also = -1);
  void hear();
  void obey(const process::Asked& asked);
  void begin_stop(const std::string& why, Duration grace);
  void deliver(int signal);
  void look_for_failure();
  Duration next_flush() const;
  std::string tree_folder() const {
    return order_.plan.folder.trees + "/" + order_.plan.folder.name;
  }

  NodeOrder& order_;
  const BarrierPlan& barrier_;
  const RankOptions& options_;
  UniqueFd run_dir_;
  UniqueFd signals_;
  process::Control control_;
  std::unique_ptr<process::Cgroup> cgroup_;
  std::optional<process::ContainerCounters> counters_;  // elsewhere they would be the machine's
  process::ProcessTree tree_;
  PodOutput output_;
  SetupTail setup_;
  std::vector<PodRankLog*> logs_;  // owned by the table
  process::RankTable ranks_;

  std::optional<process::BackgroundWork> giving_;  // code, to the other nodes

  const char* state_ = "preparing";  // as in docs/reference/job.md
  bool has_started_ = false;
  std::string killed_by_;
  int handed_on_ = 0;
  Duration time_limit_ = kForEver;  // monotonic
  Duration kill_at_ = kForEver;     // when the grace is over
};

/// 1. folders 2. code 3. set-up 4. peers. Ends early without an error when told to stop.
Result<> Supervisor::prepare() {
  auto& plan = order_.plan;
  TRY_VOID(make_folders());
  if (!plan.folder.snapshot.empty()) {
    const auto folder = tree_folder();
    TRY_VOID(work([this, folder] {
      return take_code(order_.plan.folder, options_.places, folder, options_.code);
    }));
    if (barrier_.index == 0 && barrier_.nodes.size() > 1 && killed_by_.empty())
      give_code_to_others();
    if (!plan.folder.setup.empty() || !plan.folder.requirements.empty())
      TRY_VOID(work([this, folder] {
        return process::set_up_in(folder, order_.plan.folder, order_.plan.env,
                                  options_.places.run(), order_.plan.time_limit);
      }));
    process::use_setup(plan.env, options_.places.run());
    plan.dir = plan.folder.below.empty() ? folder : folder + "/" + plan.folder.below;
    plan.env["PWD"] = plan.dir;
  }
  if (barrier_.nodes.size() <= 1 || !killed_by_.empty()) return {};
  state_ = "barrier";
  const auto met = work([this] { return wait_for_peers(barrier_); });
  giving_.reset();  // all are here, or nobody waits any more
  return met;
}

/// The others need not wait for their own copy of a stream. Who cannot be served gets one all the
/// same: nothing of this node depends on it.
void Supervisor::give_code_to_others() {
  if (!is_streamed(order_.plan.folder, options_.places)) return;
  auto begun = process::BackgroundWork::begin([this]() -> Result<> {
    TRY(const auto id, snapshot_of(order_.plan.folder));
    auto ended = serve_code({.store = options_.places.stream(),
                             .folder = options_.places.run(),
                             .snapshot = id,
                             .token = order_.plan.folder.token,
                             .port = options_.code_port});
    if (!ended) fmt::print(stderr, "muster: {}\n", to_line(ended.error()));
    return ended;
  });
  if (begun) giving_.emplace(std::move(*begun));
}

Result<> Supervisor::make_folders() {
  for (const auto& folder : order_.plan.folders) TRY_VOID(fs::make_dirs(folder));
  // So that a job can make this file at once.
  const auto done = order_.plan.env.find("MUSTER_DONE_FILE");
  if (done != order_.plan.env.end() && done->second.rfind('/') != std::string::npos)
    TRY_VOID(fs::make_dirs(done->second.substr(0, done->second.rfind('/'))));
  return {};
}

/// In a child. Left alone when somebody says stop: the sweep finds it.
Result<> Supervisor::work(std::function<Result<>()> what) {
  if (!killed_by_.empty()) return {};
  TRY(auto child, process::BackgroundWork::begin(std::move(what)));
  while (!child.is_over() && killed_by_.empty()) {
    turn(monotonic_now() + kTailPause, child.fd());
    setup_.read();
  }
  return killed_by_.empty() ? child.outcome() : Result<>();
}

void Supervisor::watch() {
  if (order_.plan.time_limit.count() > 0) time_limit_ = monotonic_now() + order_.plan.time_limit;
  look_for_failure();
  while (!ranks_.all_ended()) {
    turn(std::min(time_limit_, kill_at_));
    look_for_failure();
    const auto now = monotonic_now();
    if (now >= time_limit_) {
      time_limit_ = kForEver;
      begin_stop(std::string(name_of(Cause::time_limit)), order_.plan.grace);
    }
    if (now >= kill_at_ && !ranks_.all_ended()) {
      ranks_.signal_groups(SIGKILL);  // also where there is no /proc to find more in
      tree_.kill_sweep();
      kill_at_ = now + kSweepPause;
    }
  }
}

/// Whatever was left behind goes too; a node with a process left is not over.
void Supervisor::clear_tree() {
  for (auto pause = Duration(500); !tree_.is_gone(); pause = std::min(pause * 2, kSlowSweep)) {
    tree_.kill_sweep();
    turn(monotonic_now() + pause);
  }
  drain();
}

/// Only a stranger that was handed the pipe can still hold it; it is not waited for long.
void Supervisor::drain() {
  auto until = monotonic_now() + kDrain;
  while (ranks_.has_open_pipes() && monotonic_now() < until) {
    if (output_.is_full()) until = monotonic_now() + kDrain;  // it is the reader who is slow
    turn(until);
  }
}

ExitRecord Supervisor::conclude(const Result<>& ready) {
  if (!ready && killed_by_.empty())
    return {.ranks = {}, .killed_by = refusal_of(ready.error()), .why = "it was never started"};
  const auto counted = counters_ ? counters_->since() : std::nullopt;
  auto record = has_started_
                    ? ranks_.finish(counted.value_or(process::Counters{}), counted.has_value())
                    : ExitRecord{};
  record.killed_by = killed_by_;
  record.handed_on = handed_on_;
  if (!has_started_) record.why = "stopped before it started";
  return record;
}

/// The log is complete before the pod ends. A reader that takes nothing does not keep it for ever:
/// then it is false, and the record says so.
bool Supervisor::send_last_words(ExitRecord& record) {
  setup_.finish();
  auto until = monotonic_now() + kLastWords;
  for (auto left = output_.waiting(); !output_.is_empty() && monotonic_now() < until;) {
    turn(until);
    if (output_.waiting() < left) until = monotonic_now() + kLastWords;
    left = output_.waiting();
  }
  if (output_.is_empty()) return true;
  record.why += fmt::format("{}{} bytes of the pod's log were not taken by anybody",
                            record.why.empty() ? "" : "; ", output_.waiting());
  return false;
}

/// One round: waits for something to happen (on `also` as well), reaps, moves logs, listens.
void Supervisor::turn(Duration until, int also) {
  std::vector<pollfd> fds{{signals_.get(), POLLIN, 0}, {also, POLLIN, 0}};
  control_.add_to(fds);
  output_.add_to(fds);
  const bool reads_ranks = !output_.is_full();
  if (reads_ranks) ranks_.add_to(fds);
  until = std::min(until, next_flush());
  const auto left =
      until == kForEver ? Duration(-1) : std::max(Duration(0), until - monotonic_now());
  const auto ms = (left.count() + 999) / 1000;
  ::poll(fds.data(), fds.size(),
         left.count() < 0 ? -1 : static_cast<int>(std::min<std::int64_t>(ms, INT_MAX)));
  bool is_told_to_end = false;
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == sizeof info)
    is_told_to_end = is_told_to_end || info.ssi_signo != SIGCHLD;
  // Before the reaping: a rank that ended in the same instant heard the same signal.
  if (is_told_to_end) begin_stop("shutdown", order_.plan.grace);
  ranks_.reap();
  if (reads_ranks) ranks_.pump();
  for (auto* log : logs_) log->flush_old(monotonic_now());
  output_.send();
  hear();
}

void Supervisor::hear() {
  const auto heard = control_.hear();
  if (heard.is_new_server) control_.say({.say = state_});
  for (const auto& asked : heard.asked) obey(asked);
}

void Supervisor::obey(const process::Asked& asked) {
  if (asked.what == "stop") begin_stop(asked.why.empty() ? "stop" : asked.why, asked.grace);
  if (asked.what == "signal" && asked.signal > 0 && asked.signal < NSIG) {
    handed_on_ = asked.signal;
    deliver(asked.signal);
  }
  control_.say({.say = "done", .asked = asked.what});
}

/// The first reason stands; a later stop can only shorten the grace.
void Supervisor::begin_stop(const std::string& why, Duration grace) {
  if (has_started_ && ranks_.all_ended()) return;
  const bool is_first = kill_at_ == kForEver;
  if (killed_by_.empty() && !ranks_.first_failed()) killed_by_ = why;
  if (is_first && has_started_) {
    state_ = "stopping";
    deliver(SIGTERM);
    deliver(SIGCONT);  // a stopped process could not act on it
  }
  kill_at_ = std::min(kill_at_, monotonic_now() + grace);
}

void Supervisor::deliver(int signal) {
  switch (order_.plan.signal_to) {
    case SignalTo::main: return ranks_.signal_mains(signal);
    case SignalTo::group: return ranks_.signal_groups(signal);
    case SignalTo::all: return tree_.signal_all(signal);
  }
}

/// One rank that failed takes the others of this node along; the server sees to other nodes.
void Supervisor::look_for_failure() {
  if (ranks_.first_failed() && killed_by_.empty() && kill_at_ == kForEver && !ranks_.all_ended())
    begin_stop("", order_.plan.grace);
}

Duration Supervisor::next_flush() const {
  auto next = kForEver;
  for (const auto* log : logs_) next = std::min(next, log->next_flush().value_or(kForEver));
  return next;
}

}  // namespace

Result<ExitRecord> supervise(NodeOrder& order, const BarrierPlan& barrier,
                             const RankOptions& options) {
  TRY(auto signals, become_supervisor());
  TRY(auto run_dir, process::make_dirs(options.places.run()));
  Supervisor supervisor(order, barrier, options, std::move(run_dir), std::move(signals));
  return supervisor.run();
}

}  // namespace muster::agent
