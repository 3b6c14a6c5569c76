#include "edge/backends/kind.hpp"

namespace muster {
namespace {

constexpr std::string_view kAbsent = "the Kubernetes backend is not part of this build";

Result<std::unique_ptr<Backend>> open(const BackendDeps&) {
  return fail(Kind::unavailable, std::string(kAbsent), "use the local cluster: -c local");
}

}  // namespace

BackendKind backend_kube() {
  return {.name = "kube", .doc = "jobs on a Kubernetes cluster", .absent = kAbsent, .open = open};
}

}  // namespace muster
