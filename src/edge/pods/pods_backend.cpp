#include "edge/pods/pods_backend.hpp"

#include <pthread.h>

#include "base/text.hpp"
#include "core/model/json.hpp"
#include "core/render/names.hpp"
#include "edge/pods/errands.hpp"

extern char** environ;

namespace muster::pods {
namespace {

constexpr int kWorkers = 4;
constexpr auto kTick = std::chrono::seconds(3);
/// So many attempts without pods are asked about at each tick: the others' calls come first.
constexpr int kQuestions = 10;
/// Whoever was here before us has told the engine of all its attempts by then.
constexpr auto kOrphanAge = std::chrono::seconds(60);

Environment own_environment() {
  Environment env;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view pair(*at);
    const auto equal = pair.find('=');
    if (equal != std::string_view::npos)
      env[std::string(pair.substr(0, equal))] = std::string(pair.substr(equal + 1));
  }
  return env;
}

/// The cause of a pod that waits for something nobody will bring; none: it may come.
Cause hopeless(const Reason& reason) {
  if (reason.code.find("Image") != std::string::npos) return Cause::image_pull;
  if (reason.code == "CreateContainerConfigError" || reason.code == "CreateContainerError")
    return Cause::user_config;
  return Cause::none;
}

}  // namespace

PodsBackend::PodsBackend(PodsDeps deps) : deps_(std::move(deps)) {
  drawer_ = std::make_unique<LogDrawer>(deps_.cluster, deps_.log, [this](const std::string& pod) {
    // "m-<8hex>-<home4>-<attempt>-<index>-<random>"
    const auto parts = split(pod, '-');
    if (parts.size() < 6) return;
    const auto index = parse_whole(parts[parts.size() - 2], 0, INT32_MAX);
    const auto name = pod.substr(0, pod.rfind('-', pod.rfind('-') - 1));
    if (!index || !roster_.knows(name)) return;
    roster_.change(name, [&](Member& member) { member.drawn.insert(static_cast<int>(*index)); });
    hint(name);
  });
  const auto run = [this](const char* name, auto loop) {
    threads_.emplace_back([this, name, loop] {
      ::pthread_setname_np(::pthread_self(), name);
      (this->*loop)();
    });
  };
  for (int i = 0; i < kWorkers; ++i) run("kube-work", &PodsBackend::work);
  run("kube-tick", &PodsBackend::tick_loop);
  const kube::WatchOptions options{
      .selection = {.labels = render::selector_of(deps_.home_id), .fields = ""}};
  watches_.push_back(std::make_unique<kube::Watch>(
      deps_.cluster, kube::Collection{kube::jobs(), deps_.space}, options, sink_of(Board::jobs)));
  watches_.push_back(std::make_unique<kube::Watch>(
      deps_.cluster, kube::Collection{kube::pods(), deps_.space}, options, sink_of(Board::pods)));
}

PodsBackend::~PodsBackend() {
  watches_.clear();
  wishes_.stop();
  cancel_.set();
  ticking_.notify_all();
  for (auto& thread : threads_) thread.join();
  drawer_.reset();
}

kube::WatchSink PodsBackend::sink_of(Board::Kind kind) {
  kube::WatchSink sink;
  sink.begin = [this, kind] { board_.begin(kind); };
  sink.synced = [this, kind] {
    (void)board_.synced(kind);
    const std::lock_guard hold(mutex_);
    if (hint_) hint_(roster_.refs());
  };
  sink.trouble = [this, kind](const kube::ApiError& error) {
    board_.trouble(kind, to_line(error));
    deps_.log.warn("the cluster cannot be watched", {{"error", to_line(error)}});
  };
  sink.change = [this, kind](kube::Change change, const json::object& object) {
    if (kind == Board::jobs) {
      auto row = read_job(object);
      if (!row) return;
      const auto name = row->name;
      if (change == kube::Change::deleted)
        board_.remove_job(name);
      else
        board_.put(std::move(*row));
      return hint(name);
    }
    auto row = read_pod(object);
    if (!row) return;
    const auto name = row->job;
    bool is_news = true;
    Wish wish;
    if (row->wants_code && !row->is_deleting) wish.code_for.insert(row->name);
    if (change == kube::Change::deleted)
      forget_pod(*row);
    else
      is_news = board_.put(std::move(*row));
    if (!is_news) return;
    if (const auto member = roster_.find(name); member && !wish.is_empty()) {
      wish.ref = member->ref;
      wishes_.add(name, std::move(wish));
    }
    hint(name);
  };
  return sink;
}

/// What was last seen of it counts only as long as somebody asks for it.
void PodsBackend::forget_pod(const PodRow& row) {
  board_.remove_pod(row);
  if (!roster_.knows(row.job)) board_.forget(row.job);
}

void PodsBackend::tick_loop() {
  kube::Api api(deps_.cluster, cancel_.stop());
  std::unique_lock lock(mutex_);
  while (!cancel_.is_set()) {
    ticking_.wait_for(lock, kTick);
    if (cancel_.is_set()) return;
    lock.unlock();
    tick(api);
    lock.lock();
  }
}

void PodsBackend::tick(kube::Api& api) {
  if (!board_.blindness().empty()) {
    // Attempts are told to be out of sight, and are looked at again when the watch is back.
    const std::lock_guard hold(mutex_);
    if (hint_) hint_(roster_.refs());
    return;
  }
  const bool is_settled = std::chrono::steady_clock::now() - began_ > kOrphanAge;
  if (is_settled)
    for (const auto& name : board_.job_names())
      if (!roster_.knows(name)) {
        Wish wish;
        wish.is_orphan = true;
        wishes_.add(name, std::move(wish));
      }
  int questions = kQuestions;
  for (const auto& ref : roster_.refs()) {
    const auto name = name_of(ref);
    if (const auto member = roster_.find(name)) look_after(api, name, *member, questions);
  }
}

/// An attempt that does not run: what the cluster says about it, and when it is not worth waiting.
void PodsBackend::look_after(kube::Api& api, const std::string& name, const Member& member,
                             int& questions) {
  const auto group = board_.group(name);
  if (!group.job || !member.stop_why.empty()) return;
  if (std::ssize(group.pods) < member.nodes && questions-- > 0) {
    if (const auto text = last_warning(api, deps_.space, name); text && !text->empty())
      roster_.change(name, [&](Member& one) {
        one.waits_for =
            Reason{.code = "not_created",
                   .text = "its pods are not made: " + *text,
                   .fix = "ask whoever runs the cluster, or free what the quota counts"};
      });
  }
  Wish wish{.ref = member.ref};
  for (const auto& pod : group.pods)
    if (pod.wants_code && !pod.is_deleting) wish.code_for.insert(pod.name);
  if (!wish.is_empty()) wishes_.add(name, std::move(wish));
  Cause cause = Cause::none;
  std::string text;
  for (const auto& pod : group.pods) {
    if (pod.wants_code && member.code_refused) {
      cause = Cause::user_config;
      text = member.code_refused->text;
    }
    if (pod.waits_for && hopeless(*pod.waits_for) != Cause::none) {
      cause = hopeless(*pod.waits_for);
      text = pod.waits_for->code + ": " + pod.waits_for->text;
    }
  }
  const auto now = std::chrono::steady_clock::now();
  bool is_enough = false;
  roster_.change(name, [&](Member& one) {
    if (cause == Cause::none) one.hopeless_since.reset();
    if (cause != Cause::none && !one.hopeless_since) one.hopeless_since = now;
    is_enough = one.hopeless_since && now - *one.hopeless_since >= deps_.patience;
  });
  if (is_enough)
    wishes_.add(name, {.ref = member.ref,
                       .stop = Stop{.ref = member.ref,
                                    .nodes = member.nodes,
                                    .why = fmt::format("{}: {}", muster::name_of(cause), text)}});
  hint(name);
}

Result<std::unique_ptr<Backend>> open_pods(const ClusterAddress& address, const std::string& home,
                                           const std::string& home_id, Log& log) {
  const auto env = own_environment();
  TRY(auto target,
      kube::load({.path = address.kubeconfig, .context = address.context, .env = env}));
  if (!address.space.empty()) target.space = address.space;
  const auto space = target.space;
  TRY(auto cluster, kube::Cluster::open(std::move(target), {.env = env}));
  return std::make_unique<PodsBackend>(PodsDeps{.home = home,
                                                .home_id = home_id,
                                                .space = space,
                                                .cluster = std::move(cluster),
                                                .patience = address.patience,
                                                .log = log});
}

}  // namespace muster::pods
