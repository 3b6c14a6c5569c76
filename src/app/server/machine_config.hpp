/// What the user's configuration says about this machine: its profiles' virtual nodes, and the
/// defaults for submissions that leave things open. Project files do not reach the server.
#pragma once
#include <string>
#include <vector>

#include "core/spec/config.hpp"

namespace muster::server {

struct MachineView {
  std::vector<Node> nodes;  // of every local profile
  spec::Profile profile;    // the default one
};

class MachineConfig {
 public:
  explicit MachineConfig(std::string file) : file_(std::move(file)) {}
  Result<MachineView> read() const;

 private:
  std::string file_;
};

}  // namespace muster::server
