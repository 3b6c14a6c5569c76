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

namespace muster::server {

struct MachineView {
  std::vector<Node> nodes;              // of every local profile
  std::vector<spec::Profile> clusters;  // profiles of other machines
  std::vector<spec::Profile> profiles;  // all of them
  spec::Profile profile;                // the default one
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

}  // namespace muster::server
