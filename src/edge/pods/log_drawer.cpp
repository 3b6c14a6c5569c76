#include "edge/pods/log_drawer.hpp"

#include <pthread.h>

#include <algorithm>

#include "edge/fs/files.hpp"
#include "edge/kube/api.hpp"
#include "edge/pods/rank_files.hpp"

namespace muster::pods {
namespace {

constexpr std::size_t kThreads = 32;
/// So many are kept free for pods that have ended.
constexpr std::size_t kFollowed = kThreads - 4;
constexpr int kTries = 3;
constexpr int kWaits = 100;  // each of them as long as the client is patient
constexpr auto kRest =
    std::chrono::seconds(10);  // before a log that is not there is asked for again
constexpr auto kPause = std::chrono::seconds(1);      // before a log that ended is followed again
constexpr Duration kSilence = std::chrono::hours(4);  // of a rank that says nothing

WallTime now() { return {fs::walltime_us()}; }

kube::Call log_call(const DrawOrder& order) {
  return {.method = "GET",
          .path = kube::path_of(kube::ObjectRef{kube::pods(), order.space, order.pod, "log"}),
          .query = {{"container", "main"}, {"follow", order.is_over ? "false" : "true"}}};
}

/// One pass over the whole log: what is there already is recognised by its offset.
kube::ApiResult<> pass(kube::Api& api, const DrawOrder& order, RankFiles& files) {
  PodLineReader reader;
  const auto each = [&](const PodLine& line) { files.take(line, now()); };
  const auto silence = order.is_over ? Duration(std::chrono::seconds(30)) : kSilence;
  auto streamed = api.stream(log_call(order), silence, [&](std::string_view bytes) {
    reader.read(bytes, each);
    return true;
  });
  if (streamed) reader.finish(each);
  return streamed;
}

/// The node has no log, or none yet; nodes on paper never have one; or we may not read it.
bool is_refused(const kube::ApiError& error) {
  return error.code >= 400 && error.code < 500 && error.code != 401 && error.code != 408 &&
         error.code != 429;
}

/// All of it came while the pod ran. A record that tells no sizes has lost them for lack of room,
/// or there is nothing: the cluster is asked.
bool is_complete(RankFiles& files, const DrawOrder& order) {
  if (!order.is_over || !order.record) return false;
  const auto& ranks = order.record->ranks;
  return files.has_all(*order.record) && std::any_of(ranks.begin(), ranks.end(), [](auto& rank) {
           return rank.out_bytes > 0 || rank.err_bytes > 0;
         });
}

/// False when there is nothing to be had for now.
bool draw_all(kube::Api& api, const DrawOrder& order, Log& log) {
  auto files = RankFiles::open(order.dir, order.ranks);
  if (!files) {
    log.warn("a pod's log cannot be kept", {{"pod", order.pod}, {"error", to_line(files.error())}});
    return false;
  }
  if (is_complete(*files, order)) return true;
  int waits = 0;
  for (int tries = 0; tries < kTries; ++tries) {
    const auto passed = pass(api, order, *files);
    if (passed && (!order.record || files->has_all(*order.record))) break;
    if (passed) continue;  // the node had not written all of it yet
    log.debug("a pod's log broke off", {{"pod", order.pod}, {"error", to_line(passed.error())}});
    if (passed.error().kind == Kind::cancelled) return false;  // the next server draws the rest
    if (is_refused(passed.error())) {
      if (!order.is_over) return false;
      break;
    }
    // Nobody answers: the log is still there when somebody does.
    if (passed.error().code == 0 && waits++ < kWaits) --tries;
  }
  if (order.is_over && order.record) files->finish(*order.record, now());
  return true;
}

}  // namespace

LogDrawer::LogDrawer(std::shared_ptr<kube::Cluster> cluster, Log& log, OnDrawn on_drawn)
    : cluster_(std::move(cluster)), log_(log), on_drawn_(std::move(on_drawn)) {}

LogDrawer::~LogDrawer() {
  cancel_.set();
  changed_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void LogDrawer::draw(DrawOrder order) {
  {
    const std::lock_guard hold(mutex_);
    const auto same = [&](const DrawOrder& other) { return other.pod == order.pod; };
    const auto busy = busy_.find(order.pod);
    if (busy != busy_.end() && (busy->second || !order.is_over)) return;
    if (!order.is_over && following_ >= kFollowed) return;
    const auto rest = resting_.find(order.pod);
    if (!order.is_over && rest != resting_.end() && Clock::now() < rest->second) return;
    const auto known = std::find_if(waiting_.begin(), waiting_.end(), same);
    if (known != waiting_.end()) {
      if (order.is_over) *known = std::move(order);
    } else if (order.is_over) {
      waiting_.push_front(std::move(order));
    } else {
      waiting_.push_back(std::move(order));
    }
    if (threads_.size() < kThreads && busy_.size() + waiting_.size() > threads_.size())
      threads_.emplace_back([this] {
        ::pthread_setname_np(::pthread_self(), "pod-log");
        work();
      });
  }
  changed_.notify_one();
}

std::optional<DrawOrder> LogDrawer::next() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (cancel_.is_set()) return std::nullopt;
    const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& order) {
      return !busy_.contains(order.pod) && (order.is_over || following_ < kFollowed);
    });
    if (found != waiting_.end()) {
      auto order = std::move(*found);
      waiting_.erase(found);
      busy_.emplace(order.pod, order.is_over);
      if (!order.is_over) ++following_;
      return order;
    }
    changed_.wait_for(lock, std::chrono::seconds(1));
  }
}

void LogDrawer::finished(const DrawOrder& order, bool is_drawn) {
  const std::lock_guard hold(mutex_);
  busy_.erase(order.pod);
  if (order.is_over)
    resting_.erase(order.pod);
  else
    resting_[order.pod] = Clock::now() + (is_drawn ? kPause : kRest);
  if (!order.is_over) --following_;
}

void LogDrawer::work() {
  kube::Api api(cluster_, cancel_.stop());
  while (auto order = next()) {
    const bool is_drawn = draw_all(api, *order, log_);
    // Told before it is free again, so that nobody asks for it in between.
    if (order->is_over && !cancel_.is_set()) on_drawn_(order->pod);
    finished(*order, is_drawn);
    changed_.notify_all();
  }
}

}  // namespace muster::pods
