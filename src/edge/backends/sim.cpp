#include "edge/backends/kind.hpp"
#include "edge/sim/sim_backend.hpp"

namespace muster {
namespace {

Result<std::unique_ptr<Backend>> open_sim(const BackendDeps& deps) {
  return std::make_unique<sim::SimBackend>(deps.nodes, sim::Faults{}, Rng(1));
}

}  // namespace

BackendKind backend_sim() {
  return {.name = "sim",
          .doc = "virtual nodes and time, for simulations and tests",
          .absent = "",
          .open = open_sim};
}

}  // namespace muster
