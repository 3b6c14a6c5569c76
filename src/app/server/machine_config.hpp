/// What the user's configuration says about this machine: its profiles' virtual nodes, and the
/// defaults for submissions that leave things open. Read again when the file changes. Project files
/// do not reach the server.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "core/spec/config.hpp"
#include "port/backend.hpp"

namespace muster::server {

struct MachineView {
  std::vector<Node> nodes;  // of every local profile
  spec::Profile profile;    // the default one
};

class MachineConfig {
 public:
  MachineConfig(std::string file, Log& log) : file_(std::move(file)), log_(log) {}

  /// Reads the file for the first time; a mistake in it is an error.
  Result<> open();
  /// As the file says now; a mistake made later is logged, and what was read before stands.
  std::shared_ptr<const MachineView> current();

 private:
  Result<MachineView> read() const;
  std::string stamp() const;

  std::string file_;
  Log& log_;
  std::mutex mutex_;
  std::string stamp_;                        // of the file as it was read
  std::shared_ptr<const MachineView> view_;  // immutable, shared with readers
};

/// A backend whose nodes are the configuration's.
class ConfiguredBackend final : public Backend {
 public:
  ConfiguredBackend(Backend& inner, MachineConfig& config) : inner_(inner), config_(config) {}
  Result<Inventory> inventory() override { return Inventory{config_.current()->nodes}; }
  Result<std::vector<Observation>> observe(std::span<const Watched> attempts) override {
    return inner_.observe(attempts);
  }
  Result<> perform(const Action& action) override { return inner_.perform(action); }
  void on_change(std::function<void(std::vector<AttemptRef>)> hint) override {
    inner_.on_change(std::move(hint));
  }

 private:
  Backend& inner_;
  MachineConfig& config_;
};

}  // namespace muster::server
