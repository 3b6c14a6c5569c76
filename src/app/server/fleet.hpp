/// All places where jobs run, behind one port: this machine, and a backend for each cluster of the
/// configuration. Attempts stay where their job was submitted to, also when its profile names
/// another place now, or is gone; where that cannot be opened they are unreachable, nothing else.
/// Driver's thread; hints come from any.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "app/server/machine_config.hpp"
#include "port/backend.hpp"
#include "port/store.hpp"

namespace muster::server {

/// Opens the backend of a profile that is not of this machine.
using OpenCluster = std::function<Result<std::unique_ptr<Backend>>(const spec::Profile&)>;

/// How a cluster of the configuration stands with this server.
struct ClusterSight {
  std::string name;       // and the place, where the profile names another one now
  bool is_open = false;   // there is a backend for it
  std::string blindness;  // why nothing is seen of it; empty: all is
};

class Fleet final : public Backend {
 public:
  /// `may_be_elsewhere`: jobs of this home were on clusters once.
  Fleet(Backend& local, MachineConfig& config, Store& store, Log& log, OpenCluster open,
        bool may_be_elsewhere);
  ~Fleet() override;

  Result<Inventory> inventory() override;
  Result<std::vector<Observation>> observe(std::span<const Watched> attempts) override;
  Result<> perform(const Action& action) override;
  void on_change(std::function<void(std::vector<AttemptRef>)> hint) override;

  /// Any thread.
  std::vector<ClusterSight> sights() const;
  bool may_take(std::string_view token, std::string_view snapshot) const;

 private:
  /// A cluster as jobs are bound to it.
  struct Place {
    std::string cluster;
    std::string kubeconfig;
    std::string context;
    std::string space;
    auto operator<=>(const Place&) const = default;
  };
  struct Berth {
    std::unique_ptr<Backend> backend;  // null: it could not be opened
    std::string why;                   // then
    std::chrono::steady_clock::time_point tried;
  };
  static Place place_of(const spec::Profile& profile);
  void meet_configuration();
  spec::Profile profile_at(const Place& place) const;
  Berth& berth_at(const Place& place);
  void open(const Place& place, Berth& berth);
  /// Where a job's attempts are; null: on this machine.
  Result<Berth*> berth_of(JobSeq seq);
  /// The backend of a job's cluster, or why there is none.
  Result<Backend*> backend_of(JobSeq seq);

  Backend& local_;
  MachineConfig& config_;
  Store& store_;
  Log& log_;
  OpenCluster open_;
  std::function<void(std::vector<AttemptRef>)> hint_;
  mutable std::mutex mutex_;       // held by whoever changes the next, and by other threads
  std::map<Place, Berth> berths_;  // those not of this machine; none ever leaves
  std::shared_ptr<const MachineView> met_;
  bool may_be_elsewhere_;
  std::unordered_map<JobSeq, Berth*> known_;  // where jobs belong; bounded
};

}  // namespace muster::server
