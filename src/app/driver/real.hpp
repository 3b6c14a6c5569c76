/// The real loop: one thread that owns the driver. Others send it commands and hints, and get an
/// immutable picture of the cluster back after each turn.
#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "app/driver/driver.hpp"
#include "port/clock.hpp"

namespace muster::driver {

/// What readers may know without asking the driver's thread. Shared, immutable.
struct Picture {
  sched::View view;
  std::vector<sched::Holder> holders;
  std::vector<std::pair<int, JobSeq>> passed_over;   // (priority, job) that no node can hold
  std::vector<std::pair<JobSeq, Reason>> waits_for;  // of attempts on their way
  std::int64_t last_event = 0;
  std::size_t live_jobs = 0;  // not final
  Now at;
};

/// Called on the driver's thread after the commit; must be quick.
using OnAnswer = std::function<void(Result<engine::Answer>)>;
using OnTurn = std::function<void(const Turn&)>;
/// Called on the driver's thread when there was nothing to do for a while after some work.
using OnIdle = std::function<void()>;

class RealDriver {
 public:
  RealDriver(DriverDeps deps, Clock& clock, OnTurn on_turn, OnIdle on_idle);
  ~RealDriver();

  /// Returns after the first turn: whoever asks now sees nodes and jobs.
  void start();
  /// Finishes the turn under way and ends the thread; commands still waiting are answered
  /// `unavailable`.
  void stop();
  void submit(JobSpec spec, OnAnswer on_answer);
  void abort(JobSeq job, std::string by, OnAnswer on_answer);
  void signal(JobSeq job, int number, OnAnswer on_answer);
  void hint(std::vector<AttemptRef> refs);
  /// Inventory and every attempt, at the next turn, which comes at once.
  void look_at_everything();
  std::shared_ptr<const Picture> picture() const;

 private:
  struct Waiting {
    std::vector<engine::Input> inbox;
    std::vector<AttemptRef> hints;
    bool look_at_everything = false;
    std::unordered_map<engine::Ticket, OnAnswer> answers;
  };
  template <class Make>
  void command(Make make, OnAnswer on_answer);
  void loop();
  enum class Woken { to_work, by_time, to_stop };
  Woken wait_for_work(Duration longest, Waiting& taken);
  void publish(const Turn& turn, Now now);
  void refuse_waiting();

  Driver driver_;
  Clock& clock_;
  OnTurn on_turn_;
  OnIdle on_idle_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  Waiting waiting_;
  engine::Ticket last_ticket_ = 0;
  bool stopping_ = false;
  bool has_turned_ = false;
  std::condition_variable turned_;
  std::shared_ptr<const Picture> picture_;
  std::thread thread_;
};

}  // namespace muster::driver
