#include "edge/pods/wishes.hpp"

#include <algorithm>

namespace muster::pods {
namespace {

constexpr auto kFirstPause = std::chrono::milliseconds(500);
constexpr auto kLongestPause = std::chrono::milliseconds(10'000);

/// `later` on top of `wish`.
void join(Wish& wish, Wish later) {
  wish.ref = later.ref;
  if (later.launch) wish.launch = std::move(later.launch);
  if (later.stop) wish.stop = std::move(later.stop);
  wish.acknowledged.insert(later.acknowledged.begin(), later.acknowledged.end());
  wish.signals.insert(wish.signals.end(), later.signals.begin(), later.signals.end());
  wish.code_for.insert(later.code_for.begin(), later.code_for.end());
  wish.is_orphan = wish.is_orphan || later.is_orphan;
  wish.is_sought = wish.is_sought || later.is_sought;
  // A launch of which a part is still owed (an owner, a mark) must not make anew what has ended.
  if (!wish.acknowledged.empty()) wish.launch.reset();
}

std::chrono::milliseconds pause_after(int tries) {
  auto pause = kFirstPause;
  for (int i = 1; i < tries && pause < kLongestPause; ++i) pause *= 2;
  return std::min(pause, std::chrono::milliseconds(kLongestPause));
}

}  // namespace

void Wishes::add(const std::string& name, Wish wish) {
  {
    const std::lock_guard hold(mutex_);
    auto& waiting = waiting_[name];
    // To look again for what was not found is no reason to hurry.
    const bool is_news = wish.has_more_than_seeking() || !waiting.wish.is_sought;
    join(waiting.wish, std::move(wish));
    if (is_news) waiting.due = {};
  }
  changed_.notify_one();
}

std::map<std::string, Wishes::Waiting>::iterator Wishes::next_due(Time now,
                                                                  std::optional<Time>& earliest) {
  for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
    if (held_.contains(at->first)) continue;
    if (at->second.due <= now) return at;
    if (!earliest || at->second.due < *earliest) earliest = at->second.due;
  }
  return waiting_.end();
}

std::optional<Wishes::Held> Wishes::take() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (is_over_) return std::nullopt;
    std::optional<Time> earliest;
    const auto found = next_due(std::chrono::steady_clock::now(), earliest);
    if (found != waiting_.end()) {
      Held held{found->first, std::move(found->second.wish)};
      waiting_.erase(found);
      held_[held.name] = held.wish.launch.has_value();
      return held;
    }
    if (earliest)
      changed_.wait_until(lock, *earliest);
    else
      changed_.wait(lock);
  }
}

void Wishes::done(const std::string& name, Wish left) {
  {
    const std::lock_guard hold(mutex_);
    held_.erase(name);
    if (!left.is_empty()) {
      auto& waiting = waiting_[name];
      const bool is_new = waiting.wish.is_empty();
      const int tries = left.tries + 1;
      if (!is_new) join(left, std::move(waiting.wish));
      waiting.wish = std::move(left);
      waiting.wish.tries = tries;
      if (is_new) waiting.due = std::chrono::steady_clock::now() + pause_after(tries);
    }
  }
  changed_.notify_all();
}

void Wishes::stop() {
  {
    const std::lock_guard hold(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
}

bool Wishes::is_launching(const std::string& name) const {
  const std::lock_guard hold(mutex_);
  const auto waiting = waiting_.find(name);
  if (waiting != waiting_.end() && waiting->second.wish.launch) return true;
  const auto held = held_.find(name);
  return held != held_.end() && held->second;
}

}  // namespace muster::pods
