#include "edge/backends/kind.hpp"
#include "edge/process/local_backend.hpp"

namespace muster {
namespace {

Result<std::unique_ptr<Backend>> open(const BackendDeps& deps) {
  return std::make_unique<LocalBackend>(LocalDeps{.home = deps.home,
                                                  .home_id = deps.home_id,
                                                  .binary = deps.binary,
                                                  .build_id = deps.build_id,
                                                  .nodes = deps.nodes,
                                                  .log = deps.log});
}

}  // namespace

BackendKind backend_local() {
  return {.name = "local", .doc = "processes on this machine", .absent = "", .open = open};
}

}  // namespace muster
