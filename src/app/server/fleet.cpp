#include "app/server/fleet.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace muster::server {
namespace {

constexpr std::size_t kMostKnown = 100'000;

AttemptRef ref_of(const Action& action) {
  return std::visit([](const auto& one) { return one.ref; }, action);
}

}  // namespace

Fleet::Fleet(Backend& local, MachineConfig& config, Store& store, Log& log, OpenCluster open)
    : local_(local), config_(config), store_(store), log_(log), open_(std::move(open)) {
  meet_configuration();
}

Fleet::~Fleet() = default;

Fleet::Berth Fleet::open(const spec::Profile& profile) {
  auto opened = open_(profile);
  if (!opened) {
    log_.warn("a cluster cannot be opened",
              {{"cluster", profile.name}, {"error", to_line(opened.error())}});
    return {nullptr, to_line(opened.error())};
  }
  if (hint_) (*opened)->on_change(hint_);
  return {std::move(*opened), ""};
}

/// New profiles are opened; ones that could not be are tried again. Those that left stay while this
/// server lives: their jobs may still run.
void Fleet::meet_configuration() {
  const auto view = config_.current();
  if (view == met_) return;
  met_ = view;
  for (const auto& profile : view->clusters) {
    const auto found = clusters_.find(profile.name);
    if (found != clusters_.end() && found->second.backend) continue;
    auto opened = open(profile);
    const std::lock_guard hold(mutex_);
    clusters_[profile.name] = std::move(opened);
  }
}

Result<Inventory> Fleet::inventory() {
  meet_configuration();
  Inventory all{.nodes = met_->nodes, .self_placing = {}};
  for (const auto& [name, berth] : clusters_) all.self_placing.insert(name);
  return all;
}

std::vector<ClusterSight> Fleet::sights() const {
  const std::lock_guard hold(mutex_);
  std::vector<ClusterSight> sights;
  for (const auto& [name, berth] : clusters_) {
    const auto* eyes = dynamic_cast<const SeesFromAfar*>(berth.backend.get());
    sights.push_back({.name = name,
                      .is_open = berth.backend != nullptr,
                      .blindness = eyes == nullptr ? berth.why : eyes->blindness()});
  }
  return sights;
}

bool Fleet::may_take(std::string_view token, std::string_view snapshot) const {
  const std::lock_guard hold(mutex_);
  return std::any_of(clusters_.begin(), clusters_.end(), [&](const auto& one) {
    const auto* door = dynamic_cast<const AdmitsPods*>(one.second.backend.get());
    return door != nullptr && door->may_take(token, snapshot);
  });
}

const std::string& Fleet::cluster_of(JobSeq seq) {
  static const std::string kUnknown;
  if (const auto found = known_.find(seq); found != known_.end()) return found->second;
  const auto job = store_.job(seq);
  if (!job || !*job) return kUnknown;
  if (known_.size() >= kMostKnown) known_.clear();
  return known_.emplace(seq, (*job)->cluster).first->second;
}

Result<Backend*> Fleet::backend_of(JobSeq seq) {
  if (clusters_.empty()) return &local_;
  const auto& name = cluster_of(seq);
  const auto found = clusters_.find(name);
  if (found == clusters_.end()) return &local_;
  if (found->second.backend) return found->second.backend.get();
  return fail(Kind::unavailable,
              fmt::format("cluster {} cannot be used: {}", printable(name), found->second.why));
}

Result<std::vector<Observation>> Fleet::observe(std::span<const Watched> attempts) {
  if (clusters_.empty()) return local_.observe(attempts);
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
  for (auto& [name, berth] : clusters_)
    if (berth.backend) berth.backend->on_change(hint_);
}

}  // namespace muster::server
