/// All places where jobs run, behind one port: this machine, and a backend for each cluster of the
/// configuration. Attempts go by the cluster their job was submitted to; one that is not (or no
/// longer) configured is unreachable, nothing else. Driver's thread; hints come from any.
#pragma once
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
  std::string name;
  bool is_open = false;   // there is a backend for it
  std::string blindness;  // why nothing is seen of it; empty: all is
};

class Fleet final : public Backend {
 public:
  Fleet(Backend& local, MachineConfig& config, Store& store, Log& log, OpenCluster open);
  ~Fleet() override;

  Result<Inventory> inventory() override;
  Result<std::vector<Observation>> observe(std::span<const Watched> attempts) override;
  Result<> perform(const Action& action) override;
  void on_change(std::function<void(std::vector<AttemptRef>)> hint) override;

  /// Any thread.
  std::vector<ClusterSight> sights() const;
  bool may_take(std::string_view token, std::string_view snapshot) const;

 private:
  struct Berth {
    std::unique_ptr<Backend> backend;  // null: it could not be opened
    std::string why;                   // then
  };
  void meet_configuration();
  Berth open(const spec::Profile& profile);
  /// The backend of a job's cluster, or why there is none.
  Result<Backend*> backend_of(JobSeq seq);
  const std::string& cluster_of(JobSeq seq);

  Backend& local_;
  MachineConfig& config_;
  Store& store_;
  Log& log_;
  OpenCluster open_;
  std::function<void(std::vector<AttemptRef>)> hint_;
  mutable std::mutex mutex_;               // held by whoever changes the next, and by other threads
  std::map<std::string, Berth> clusters_;  // those not of this machine, by profile name
  std::shared_ptr<const MachineView> met_;
  std::unordered_map<JobSeq, std::string> known_;  // where jobs belong; bounded
};

}  // namespace muster::server
