#include "app/driver/real.hpp"

#include <pthread.h>

namespace muster::driver {
namespace {

constexpr Duration kLongestSleep = std::chrono::minutes(10);
constexpr Duration kIdle = std::chrono::seconds(2);

Duration sleep_until(std::optional<RunTime> wake, RunTime now) {
  if (!wake) return kLongestSleep;
  return std::clamp(*wake - now, Duration(0), kLongestSleep);
}

}  // namespace

RealDriver::RealDriver(DriverDeps deps, Clock& clock, OnTurn on_turn, OnIdle on_idle)
    : driver_(std::move(deps)),
      clock_(clock),
      on_turn_(std::move(on_turn)),
      on_idle_(std::move(on_idle)),
      picture_(std::make_shared<Picture>()) {}

RealDriver::~RealDriver() { stop(); }

void RealDriver::start() {
  thread_ = std::thread([this] {
    ::pthread_setname_np(::pthread_self(), "driver");
    loop();
  });
  std::unique_lock lock(mutex_);
  turned_.wait(lock, [&] { return has_turned_ || stopping_; });
}

void RealDriver::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
  refuse_waiting();
}

void RealDriver::refuse_waiting() {
  Waiting left;
  {
    const std::lock_guard lock(mutex_);
    std::swap(left, waiting_);
  }
  for (auto& [ticket, answer] : left.answers)
    answer(fail(Kind::unavailable, "the server is stopping",
                "try again: the next command starts a new one"));
}

template <class Make>
void RealDriver::command(Make make, OnAnswer on_answer) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_) {
      const auto ticket = ++last_ticket_;
      waiting_.inbox.push_back(make(ticket));
      waiting_.answers.emplace(ticket, std::move(on_answer));
      on_answer = nullptr;
    }
  }
  if (on_answer)
    on_answer(fail(Kind::unavailable, "the server is stopping",
                   "try again: the next command starts a new one"));
  else
    wake_.notify_one();
}

void RealDriver::submit(JobSpec spec, OnAnswer on_answer) {
  command(
      [&](engine::Ticket ticket) {
        return engine::SubmitJob{.ticket = ticket, .spec = std::move(spec)};
      },
      std::move(on_answer));
}

void RealDriver::abort(JobSeq job, std::string by, OnAnswer on_answer) {
  command(
      [&](engine::Ticket ticket) {
        return engine::AbortJob{.ticket = ticket, .seq = job, .by = std::move(by)};
      },
      std::move(on_answer));
}

void RealDriver::signal(JobSeq job, int number, OnAnswer on_answer) {
  command(
      [&](engine::Ticket ticket) {
        return engine::SignalJob{.ticket = ticket, .seq = job, .number = number};
      },
      std::move(on_answer));
}

void RealDriver::hint(std::vector<AttemptRef> refs) {
  {
    const std::lock_guard lock(mutex_);
    for (auto& ref : refs) waiting_.hints.push_back(std::move(ref));
  }
  wake_.notify_one();
}

void RealDriver::look_at_everything() {
  {
    const std::lock_guard lock(mutex_);
    waiting_.look_at_everything = true;
  }
  wake_.notify_one();
}

std::shared_ptr<const Picture> RealDriver::picture() const {
  const std::lock_guard lock(mutex_);
  return picture_;
}

void RealDriver::publish(const Turn& turn, Now now) {
  auto picture = std::make_shared<Picture>();
  if (const auto* engine = driver_.engine()) {
    picture->view = engine->view();
    picture->holders = engine->holders();
    picture->passed_over = engine->passed_over();
    picture->waits_for = engine->waits_for();
    picture->live_jobs = engine->job_count();
  }
  picture->last_event = turn.last_event;
  picture->at = now;
  const std::lock_guard lock(mutex_);
  picture_ = std::move(picture);
  has_turned_ = true;
  turned_.notify_all();
}

/// Takes what waits, or tells that nothing came in time or that it is over; then what waits stays,
/// to be answered by stop().
RealDriver::Woken RealDriver::wait_for_work(Duration longest, Waiting& taken) {
  std::unique_lock lock(mutex_);
  const auto has_work = [&] {
    return stopping_ || !waiting_.inbox.empty() || !waiting_.hints.empty() ||
           waiting_.look_at_everything;
  };
  const bool found = wake_.wait_for(lock, longest, has_work);
  if (stopping_) return Woken::to_stop;
  std::swap(taken, waiting_);
  return found ? Woken::to_work : Woken::by_time;
}

void RealDriver::loop() {
  std::optional<RunTime> wake = clock_.now().run;  // the first turn loads and looks
  bool is_dirty = false;
  for (;;) {
    Waiting taken;
    const auto longest = sleep_until(wake, clock_.now().run);
    const auto woken = wait_for_work(is_dirty ? std::min(longest, kIdle) : longest, taken);
    if (woken == Woken::to_stop) return;
    if (woken == Woken::by_time && is_dirty && longest > kIdle) {
      is_dirty = false;
      on_idle_();
      continue;
    }
    if (taken.look_at_everything) driver_.look_at_everything();
    const Now now = clock_.now();
    auto turn = driver_.turn(now, std::move(taken.inbox), std::move(taken.hints));
    wake = turn.wake;
    is_dirty = is_dirty || !turn.changed.empty();
    publish(turn, now);
    for (auto& reply : turn.replies)
      if (const auto found = taken.answers.find(reply.ticket); found != taken.answers.end())
        found->second(std::move(reply.answer));
    on_turn_(turn);
  }
}

}  // namespace muster::driver
