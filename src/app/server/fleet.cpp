#include "app/server/fleet.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace muster::server {
namespace {

constexpr std::size_t kMostKnown = 100'000;
/// A kubeconfig that could not be read may have been mended.
constexpr auto kTryAgain = std::chrono::seconds(10);

AttemptRef ref_of(const Action& action) {
  return std::visit([](const auto& one) { return one.ref; }, action);
}

}  // namespace

Fleet::Fleet(Backend& local, MachineConfig& config, Store& store, Log& log, OpenCluster open,
             bool may_be_elsewhere)
    : local_(local),
      config_(config),
      store_(store),
      log_(log),
      open_(std::move(open)),
      may_be_elsewhere_(may_be_elsewhere) {
  meet_configuration();
}

Fleet::~Fleet() = default;

Fleet::Place Fleet::place_of(const spec::Profile& profile) {
  return {profile.name, profile.kubeconfig, profile.context, profile.pod.name_space};
}

/// What the profile says today of everything but the place.
spec::Profile Fleet::profile_at(const Place& place) const {
  spec::Profile profile{.name = place.cluster, .kind = "kube"};
  for (const auto& known : met_->clusters)
    if (known.name == place.cluster) profile = known;
  profile.kubeconfig = place.kubeconfig;
  profile.context = place.context;
  profile.pod.name_space = place.space;
  return profile;
}

void Fleet::open(const Place& place, Berth& berth) {
  auto opened = open_(profile_at(place));
  if (!opened)
    log_.warn("a cluster cannot be opened",
              {{"cluster", place.cluster}, {"error", to_line(opened.error())}});
  else if (hint_)
    (*opened)->on_change(hint_);
  const std::lock_guard hold(mutex_);
  berth.tried = std::chrono::steady_clock::now();
  berth.why = opened ? "" : to_line(opened.error());
  if (opened) berth.backend = std::move(*opened);
}

Fleet::Berth& Fleet::berth_at(const Place& place) {
  auto found = berths_.find(place);
  const bool is_new = found == berths_.end();
  if (is_new) {
    const std::lock_guard hold(mutex_);
    found = berths_.emplace(place, Berth{}).first;
  }
  auto& berth = found->second;
  const bool is_due = std::chrono::steady_clock::now() - berth.tried > kTryAgain;
  if (is_new || (!berth.backend && is_due)) open(place, berth);
  return berth;
}

/// New places are opened. Those that left stay while this server lives: their jobs may still run.
void Fleet::meet_configuration() {
  const auto view = config_.current();
  if (view == met_) return;
  met_ = view;
  for (const auto& profile : view->clusters) (void)berth_at(place_of(profile));
}

Result<Inventory> Fleet::inventory() {
  meet_configuration();
  Inventory all{.nodes = met_->nodes, .self_placing = {}};
  for (const auto& [place, berth] : berths_) all.self_placing.insert(place.cluster);
  return all;
}

std::vector<ClusterSight> Fleet::sights() const {
  const auto view = config_.current();
  const std::lock_guard hold(mutex_);
  std::vector<ClusterSight> sights;
  for (const auto& [place, berth] : berths_) {
    const bool is_todays =
        std::any_of(view->clusters.begin(), view->clusters.end(),
                    [&, &at = place](const auto& profile) { return place_of(profile) == at; });
    const auto* eyes = dynamic_cast<const SeesFromAfar*>(berth.backend.get());
    sights.push_back({.name = is_todays ? place.cluster
                                        : fmt::format("{} as it was ({}/{})", place.cluster,
                                                      place.context, place.space),
                      .is_open = berth.backend != nullptr,
                      .blindness = eyes == nullptr ? berth.why : eyes->blindness()});
  }
  return sights;
}

bool Fleet::may_take(std::string_view token, std::string_view snapshot) const {
  const std::lock_guard hold(mutex_);
  return std::any_of(berths_.begin(), berths_.end(), [&](const auto& one) {
    const auto* door = dynamic_cast<const AdmitsPods*>(one.second.backend.get());
    return door != nullptr && door->may_take(token, snapshot);
  });
}

Result<Fleet::Berth*> Fleet::berth_of(JobSeq seq) {
  if (berths_.empty() && !may_be_elsewhere_) return nullptr;
  const auto found = known_.find(seq);
  if (found != known_.end() && (found->second == nullptr || found->second->backend))
    return found->second;
  TRY(const auto spec, store_.spec(seq));
  Berth* berth = nullptr;
  if (spec.pod)
    berth =
        &berth_at({spec.cluster, spec.pod->kubeconfig, spec.pod->context, spec.pod->name_space});
  if (known_.size() >= kMostKnown) known_.clear();
  known_[seq] = berth;
  return berth;
}

Result<Backend*> Fleet::backend_of(JobSeq seq) {
  TRY(const auto* berth, berth_of(seq));
  if (berth == nullptr) return &local_;
  if (berth->backend) return berth->backend.get();
  return fail(Kind::unavailable, fmt::format("its cluster cannot be used: {}", berth->why));
}

Result<std::vector<Observation>> Fleet::observe(std::span<const Watched> attempts) {
  if (berths_.empty() && !may_be_elsewhere_) return local_.observe(attempts);
  std::map<Backend*, std::vector<Watched>> shares;
  std::vector<Observation> all;
  const auto unreachable = [&](const Watched& one, const Error& error) {
    for (int node = 0; node < one.nodes; ++node)
      all.push_back({one.ref, node, Unreachable{to_line(error)}, {}});
  };
  for (const auto& one : attempts) {
    const auto backend = backend_of(one.ref.seq);
    if (backend)
      shares[*backend].push_back(one);
    else
      unreachable(one, backend.error());
  }
  for (const auto& [backend, share] : shares) {
    auto seen = backend->observe(share);
    if (!seen) {
      for (const auto& one : share) unreachable(one, seen.error());
      continue;
    }
    std::move(seen->begin(), seen->end(), std::back_inserter(all));
  }
  return all;
}

Result<> Fleet::perform(const Action& action) {
  TRY(auto* const backend, backend_of(ref_of(action).seq));
  return backend->perform(action);
}

void Fleet::on_change(std::function<void(std::vector<AttemptRef>)> hint) {
  hint_ = std::move(hint);
  local_.on_change(hint_);
  for (auto& [place, berth] : berths_)
    if (berth.backend) berth.backend->on_change(hint_);
}

}  // namespace muster::server
