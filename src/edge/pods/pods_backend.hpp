/// Attempts as Indexed Jobs of a Kubernetes cluster (docs/design/0007-kubernetes.md). Two watches
/// keep the board, workers make wishes true, drawers fetch logs; the driver's calls only read and
/// write memory, and never wait for the cluster.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/log.hpp"
#include "edge/kube/cluster.hpp"
#include "edge/kube/watch.hpp"
#include "edge/pods/begun.hpp"
#include "edge/pods/board.hpp"
#include "edge/pods/impasse.hpp"
#include "edge/pods/log_drawer.hpp"
#include "edge/pods/pod_sight.hpp"
#include "edge/pods/roster.hpp"
#include "edge/pods/wishes.hpp"
#include "port/backend.hpp"

namespace muster::pods {

struct PodsDeps {
  std::string home;
  std::string home_id;
  std::string name;   // the profile's: another one may have the same namespace
  std::string place;  // the kubeconfig and the context it named
  std::string space;  // the namespace
  std::shared_ptr<kube::Cluster> cluster;
  Duration patience{std::chrono::minutes(5)};        // with what may never come
  Duration gang_patience{std::chrono::minutes(10)};  // with a gang that is placed in part
  std::string served_at;                             // where pods reach this server, or empty
  std::string key;                                   // of the tokens
  Log& log;
};

class PodsBackend final : public Backend, public SeesFromAfar, public AdmitsPods {
 public:
  explicit PodsBackend(PodsDeps deps);
  ~PodsBackend() override;

  Result<Inventory> inventory() override { return Inventory{}; }
  Result<std::vector<Observation>> observe(std::span<const Watched> attempts) override;
  Result<> perform(const Action& action) override;
  void on_change(std::function<void(std::vector<AttemptRef>)> hint) override;
  std::string blindness() const override { return board_.blindness(); }
  bool may_take(std::string_view token, std::string_view snapshot) const override {
    return roster_.admits(token, snapshot);
  }

 private:
  // What is seen.
  void remember(const AttemptRef& ref, int nodes, const std::string& name);
  Observation observe_node(const AttemptRef& ref, int node, const Group& group,
                           const Member& member);
  Sight missing_pod(const Group& group, const Member& member, const std::string& name);
  Sight missing_job(const Member& member, const std::string& name);
  Sight ended_pod(const PodRow& row, const Member& member, Sight sight);
  static Around around_of(const Group& group, const Member& member, const PodRow& row);

  void hint(const std::string& name);

  // What is done, on workers' threads.
  void work();
  void tend(kube::Api& api, const std::string& name, Wish& wish);
  void launch(kube::Api& api, const std::string& name, Wish& wish);
  void stop(kube::Api& api, const std::string& name, Wish& wish);
  void acknowledge(kube::Api& api, const std::string& name, Wish& wish);
  void send_code(kube::Api& api, const std::string& name, Wish& wish);
  void pass_signals(kube::Api& api, const std::string& name, Wish& wish);
  void remove_orphan(kube::Api& api, const std::string& name, Wish& wish);
  void seek(kube::Api& api, const std::string& name, Wish& wish);
  bool show_again(kube::Api& api, const std::string& name, const Group& group);
  void want_sought(const AttemptRef& ref, const std::string& name);
  std::string enforced(kube::Api& api);

  // From time to time.
  void tick_loop();
  void tick(kube::Api& api);
  void want_orphans_gone();
  void ask_about(kube::Api& api, const std::string& name, const Member& member);
  void look_after(kube::Api& api, const std::string& name, const Member& member, int& questions);
  void end_impasse(const std::string& name, const Member& member,
                   const std::optional<Impasse>& impasse);

  kube::WatchSink sink_of(Board::Kind kind);
  void see_job(kube::Change change, const boost::json::object& object);
  void see_pod(kube::Change change, const boost::json::object& object);
  void see_all(Board::Kind kind);
  void forget_pod(const PodRow& row);
  std::string name_of(const AttemptRef& ref) const;
  std::string attempt_dir(const AttemptRef& ref, int node) const;

  PodsDeps deps_;
  Begun begun_;
  Board board_;
  Roster roster_;
  Wishes wishes_;
  kube::Cancel cancel_;
  std::mutex mutex_;  // guards the next two
  std::function<void(std::vector<AttemptRef>)> hint_;
  std::optional<std::string> enforced_;  // the namespace's pod security, once it is known
  std::condition_variable ticking_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::unique_ptr<LogDrawer> drawer_;
  std::vector<std::thread> threads_;
  std::vector<std::unique_ptr<kube::Watch>> watches_;
};

/// Opens the cluster a profile names: kubeconfig, context, namespace.
struct ClusterAddress {
  std::string name;  // the profile's
  std::string kubeconfig;
  std::string context;
  std::string space;
  Duration patience{std::chrono::minutes(5)};
  Duration gang_patience{std::chrono::minutes(10)};
  std::string served_at;
};
Result<std::unique_ptr<Backend>> open_pods(const ClusterAddress& address, const std::string& home,
                                           const std::string& home_id, Log& log);

}  // namespace muster::pods
