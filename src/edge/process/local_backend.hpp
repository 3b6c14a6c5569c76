/// Runs attempts as processes of this machine. Calls come from the driver's thread and do not block
/// on processes: a watcher thread owns the zygote, the cgroup slots and the links to shims.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "edge/process/slot_pool.hpp"
#include "port/backend.hpp"

namespace muster {

struct LocalDeps {
  std::string home;
  std::string home_id;
  std::string binary;  // run as `muster shim --zygote`
  std::string build_id;
  std::vector<Node> nodes;
  Log& log;
  process::TierChoice tier = process::TierChoice::best;
};

namespace process {
class SightBoard;
class Watcher;
}  // namespace process

class LocalBackend final : public Backend {
 public:
  explicit LocalBackend(LocalDeps deps);
  /// Lets go of running attempts: they live on without a server.
  ~LocalBackend() override;
  Result<Inventory> inventory() override;
  Result<std::vector<Observation>> observe(std::span<const Watched> attempts) override;
  Result<> perform(const Action& action) override;
  void on_change(std::function<void(std::vector<AttemptRef>)> hint) override;
  /// How well this machine can contain jobs: "cgroup v1" or "none".
  std::string_view tier() const;

 private:
  Sight look(const AttemptRef& ref, int node);

  LocalDeps deps_;
  std::unique_ptr<process::SightBoard> board_;
  std::unique_ptr<process::Watcher> watcher_;
};

}  // namespace muster
