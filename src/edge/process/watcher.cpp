#include "edge/process/watcher.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <climits>
#include <csignal>

#include "base/check.hpp"
#include "edge/process/clocks.hpp"

namespace muster::process {
namespace {

/// A thread that takes no signals: they are for the main one.
template <class F>
std::thread quiet_thread(F run) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(run));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

Watcher::Watcher(const LocalDeps& deps, SightBoard& board)
    : deps_(deps),
      board_(board),
      pool_(deps.home_id, deps.tier),
      tier_(pool_.tier()),
      zygote_(deps.binary),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  MUSTER_CHECK(epoll_ && wake_, "no descriptors left to watch processes with");
  epoll_event event{.events = EPOLLIN, .data = {.u64 = 0}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event);
  thread_ = quiet_thread([this] { loop(); });
}

Watcher::~Watcher() {
  is_ending_ = true;
  ::eventfd_write(wake_.get(), 1);
  thread_.join();
}

void Watcher::post(Task task) {
  {
    const std::lock_guard hold(mutex_);
    tasks_.push_back(std::move(task));
  }
  ::eventfd_write(wake_.get(), 1);
}

void Watcher::on_change(std::function<void(std::vector<AttemptRef>)> hint) {
  const std::lock_guard hold(mutex_);
  hint_ = std::move(hint);
}

void Watcher::loop() {
  while (!is_ending_) {
    epoll_event events[64];
    const int count = ::epoll_wait(epoll_.get(), events, 64, wait_ms());
    for (int i = 0; i < count; ++i) {
      const Serial serial = events[i].data.u64;
      if (serial == 0)
        take_tasks();
      else if (serial == 1)
        zygote_died();
      else
        hear(serial);
    }
    fire_timers();
    give_hints();
  }
}

void Watcher::take_tasks() {
  eventfd_t ignored = 0;
  ::eventfd_read(wake_.get(), &ignored);
  std::vector<Task> tasks;
  {
    const std::lock_guard hold(mutex_);
    tasks.swap(tasks_);
  }
  for (const auto& task : tasks) std::visit([this](const auto& one) { carry_out(one); }, task);
}

int Watcher::wait_ms() const {
  if (timers_.empty()) return -1;
  const auto left = timers_.begin()->first - monotonic_now();
  return static_cast<int>(std::clamp<std::int64_t>((left.count() + 999) / 1000, 0, INT_MAX));
}

void Watcher::fire_timers() {
  const auto now = monotonic_now();
  while (!timers_.empty() && timers_.begin()->first <= now) {
    const auto serial = timers_.begin()->second;
    timers_.erase(timers_.begin());
    const auto at = seats_.find(serial);
    if (at == seats_.end()) continue;
    if (at->second.link.is_open())
      at->second.link.flush();
    else if (at->second.leftovers)
      clean_up(serial);
    else
      find_out(serial);
  }
}

void Watcher::give_hints() {
  if (changed_.empty()) return;
  std::vector<AttemptRef> refs(changed_.begin(), changed_.end());
  changed_.clear();
  std::function<void(std::vector<AttemptRef>)> hint;
  {
    const std::lock_guard hold(mutex_);
    hint = hint_;
  }
  if (hint) hint(std::move(refs));
}

}  // namespace muster::process
