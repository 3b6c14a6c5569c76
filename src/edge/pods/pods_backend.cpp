#include "edge/pods/pods_backend.hpp"

#include <pthread.h>

#include <algorithm>

#include "base/text.hpp"
#include "core/model/json.hpp"
#include "core/render/names.hpp"
#include "edge/pods/code.hpp"
#include "edge/pods/errands.hpp"

extern char** environ;

namespace muster::pods {
namespace {

constexpr int kWorkers = 4;
constexpr auto kTick = std::chrono::seconds(3);
/// Watches are short and tell everything twice, so that a change which one of them left out (a
/// cache behind a proxy, a connection that died silently) is known within half a minute.
constexpr auto kLease = std::chrono::seconds(10);
constexpr auto kOverlap = std::chrono::seconds(30);
constexpr auto kLongestPause = std::chrono::seconds(10);
/// So many attempts without pods are asked about at each tick: the others' calls come first.
constexpr int kQuestions = 10;
constexpr auto kRarestQuestion = std::chrono::seconds(60);
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

}  // namespace

PodsBackend::PodsBackend(PodsDeps deps)
    : deps_(std::move(deps)),
      begun_(deps_.home, fmt::format("{}-{}-{}", deps_.name, deps_.place, deps_.space)) {
  drawer_ = std::make_unique<LogDrawer>(deps_.cluster, deps_.log, [this](const std::string& pod) {
    // "m-<8hex>-<home4>-<attempt>-<index>-<random>"
    const auto parts = split(pod, '-');
    if (parts.size() < 6) return;
    const auto index = parse_whole(parts[parts.size() - 2], 0, INT32_MAX);
    const auto name = pod.substr(0, pod.rfind('-', pod.rfind('-') - 1));
    if (!index) return;
    roster_.amend(name, [&](Member& member) { member.drawn.insert(static_cast<int>(*index)); });
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
      .selection = {.labels = render::selector_of(deps_.home_id, deps_.name, deps_.place),
                    .fields = ""},
      .lease = kLease,
      .overlap = kOverlap,
      .longest_pause = kLongestPause};
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
  sink.synced = [this, kind] { see_all(kind); };
  sink.heard = [this, kind] { board_.heard(kind); };
  sink.set_back = [this, kind] { board_.set_back(kind); };
  sink.trouble = [this, kind](const kube::ApiError& error) {
    board_.trouble(kind, to_line(error));
    deps_.log.warn("the cluster cannot be watched", {{"error", to_line(error)}});
  };
  sink.change = [this, kind](kube::Change change, const json::object& object) {
    kind == Board::jobs ? see_job(change, object) : see_pod(change, object);
  };
  return sink;
}

void PodsBackend::see_all(Board::Kind kind) {
  for (const auto& name : board_.synced(kind))
    want_sought(roster_.find(name).value_or(Member{}).ref, name);
  const std::lock_guard hold(mutex_);
  if (hint_) hint_(roster_.refs());
}

void PodsBackend::see_job(kube::Change change, const json::object& object) {
  auto row = read_job(object);
  if (!row) return;
  const auto name = row->name;
  if (change == kube::Change::deleted)
    board_.remove_job(*row);
  else if (!board_.put(std::move(*row)))
    return;
  hint(name);
}

void PodsBackend::see_pod(kube::Change change, const json::object& object) {
  auto row = read_pod(object);
  if (!row || !board_.is_ours(*row)) return;
  const auto name = row->job;
  Wish wish;
  if (row->wants_code && !row->is_deleting && row->index == 0) wish.code_for.insert(row->name);
  if (change == kube::Change::deleted)
    forget_pod(*row);
  else if (!board_.put(std::move(*row)))
    return;
  if (const auto member = roster_.find(name); member && !wish.is_empty()) {
    wish.ref = member->ref;
    wishes_.add(name, std::move(wish));
  }
  hint(name);
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
  if (std::chrono::steady_clock::now() - began_ > kOrphanAge) want_orphans_gone();
  int questions = kQuestions;
  for (const auto& ref : roster_.refs()) {
    const auto name = name_of(ref);
    if (const auto member = roster_.find(name)) look_after(api, name, *member, questions);
  }
}

/// Jobs that nobody here knows, and what a launch made before its server died.
void PodsBackend::want_orphans_gone() {
  auto names = board_.job_names();
  for (auto& name : begun_.names()) names.push_back(std::move(name));
  for (const auto& name : names)
    if (!roster_.knows(name)) {
      Wish wish;
      wish.is_orphan = true;
      wishes_.add(name, std::move(wish));
    }
}

/// Pods that are not there: perhaps nobody makes them, perhaps nobody has told us. Asked less and
/// less often.
void PodsBackend::ask_about(kube::Api& api, const std::string& name, const Member& member) {
  want_sought(member.ref, name);
  const auto text = last_warning(api, deps_.space, name);
  roster_.amend(name, [&](Member& one) {
    one.ask_at = std::chrono::steady_clock::now() + one.ask_again;
    one.ask_again = std::min(one.ask_again * 2, kRarestQuestion);
    if (!text || text->empty()) return;
    one.waits_for = Reason{.code = "not_created",
                           .text = "its pods are not made: " + *text,
                           .fix = "ask whoever runs the cluster, or free what the quota counts"};
  });
}

/// An attempt that does not run: what the cluster says about it, and when it is not worth waiting.
void PodsBackend::look_after(kube::Api& api, const std::string& name, const Member& member,
                             int& questions) {
  const auto group = board_.group(name);
  if (!group.job || !member.stop_why.empty()) return;
  const bool is_due = std::chrono::steady_clock::now() >= member.ask_at;
  if (std::ssize(group.pods) < member.nodes && is_due && questions-- > 0)
    ask_about(api, name, member);
  const auto* first = group.pod(0);
  if (!member.first_ran && first != nullptr && first->has_started)
    roster_.amend(name, [](Member& one) { one.first_ran = std::chrono::steady_clock::now(); });
  Wish wish{.ref = member.ref};
  wish.code_for = pods_to_send(group, member, std::chrono::steady_clock::now());
  if (!wish.is_empty()) wishes_.add(name, std::move(wish));
  auto impasse = impasse_of(group, member.nodes);
  const bool wants_code = std::any_of(group.pods.begin(), group.pods.end(),
                                      [](const auto& pod) { return pod.wants_code; });
  if (wants_code && member.code_refused && (!impasse || impasse->cause == Cause::queue_preempted))
    impasse = Impasse{Cause::user_config, member.code_refused->text};
  end_impasse(name, member, impasse);
  hint(name);
}

/// Ends what has waited in vain for long enough.
void PodsBackend::end_impasse(const std::string& name, const Member& member,
                              const std::optional<Impasse>& impasse) {
  const auto now = std::chrono::steady_clock::now();
  bool is_enough = false;
  roster_.amend(name, [&](Member& one) {
    const auto cause = impasse ? impasse->cause : Cause::none;
    if (one.impasse != cause) one.impasse_since = now;
    one.impasse = cause;
    const auto most = cause == Cause::queue_preempted ? deps_.gang_patience : deps_.patience;
    is_enough = cause != Cause::none && now - one.impasse_since >= most;
  });
  if (!is_enough) return;
  const auto why = fmt::format("{}: {}", muster::name_of(impasse->cause), impasse->text);
  wishes_.add(name, {.ref = member.ref,
                     .stop = Stop{.ref = member.ref, .nodes = member.nodes, .why = why}});
}

Result<std::unique_ptr<Backend>> open_pods(const ClusterAddress& address, const std::string& home,
                                           const std::string& home_id, Log& log) {
  const auto env = own_environment();
  const auto find = [source = kube::TargetSource{
                         .path = address.kubeconfig, .context = address.context, .env = env}] {
    return kube::load(source);
  };
  TRY(auto target, find());
  if (!address.space.empty()) target.space = address.space;
  const auto space = target.space;
  TRY(auto cluster, kube::Cluster::open(std::move(target), {.env = env, .again = find}));
  TRY(auto key, attempt_key(home));
  return std::make_unique<PodsBackend>(
      PodsDeps{.home = home,
               .home_id = home_id,
               .name = address.name,
               .place = render::place_of(address.kubeconfig, address.context),
               .space = space,
               .cluster = std::move(cluster),
               .patience = address.patience,
               .gang_patience = address.gang_patience,
               .served_at = address.served_at,
               .key = std::move(key),
               .log = log});
}

}  // namespace muster::pods
