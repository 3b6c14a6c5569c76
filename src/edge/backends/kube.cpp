#include "edge/backends/kind.hpp"
#include "edge/pods/pods_backend.hpp"

namespace muster {
namespace {

Result<std::unique_ptr<Backend>> open(const BackendDeps& deps) {
  const auto& profile = deps.cluster;
  return pods::open_pods({.name = profile.name,
                          .kubeconfig = profile.kubeconfig,
                          .context = profile.context,
                          .space = profile.pod.name_space,
                          .patience = profile.patience,
                          .gang_patience = profile.gang_patience,
                          .served_at = deps.served_at},
                         deps.home, deps.home_id, deps.log);
}

}  // namespace

BackendKind backend_kube() {
  return {.name = "kube", .doc = "jobs on a Kubernetes cluster", .absent = "", .open = open};
}

}  // namespace muster
