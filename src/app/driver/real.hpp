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
  std::int64_t last_event = 0;
  std::size_t live_jobs = 0;  // not final
  Now at;
};

/// Called on the driver's thread after the commit; must be quick.
using OnAnswer = std::function<void(Result<engine::Answer>)>;
using OnTurn = std::function<void(const Turn&)>;

class RealDriver {
 public:
  RealDriver(DriverDeps deps, Clock& clock, OnTurn on_turn);
  ~RealDriver();

  void start();
  /// Finishes the turn under way and ends the thread; commands still waiting are answered
  /// `unavailable`.
  void stop();
  void submit(JobSpec spec, OnAnswer on_answer);
  void abort(JobSeq job, std::string by, OnAnswer on_answer);
  void signal(JobSeq job, int number, OnAnswer on_answer);
  void hint(std::vector<AttemptRef> refs);
  std::shared_ptr<const Picture> picture() const;

 private:
  struct Waiting {
    std::vector<engine::Input> inbox;
    std::vector<AttemptRef> hints;
    std::unordered_map<engine::Ticket, OnAnswer> answers;
  };
  template <class Make>
  void command(Make make, OnAnswer on_answer);
  void loop();
  void publish(const Turn& turn, Now now);
  void refuse_waiting();

  Driver driver_;
  Clock& clock_;
  OnTurn on_turn_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  Waiting waiting_;
  engine::Ticket last_ticket_ = 0;
  bool stopping_ = false;
  std::shared_ptr<const Picture> picture_;
  std::thread thread_;
};

}  // namespace muster::driver
