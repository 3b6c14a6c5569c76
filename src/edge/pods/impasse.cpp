#include "edge/pods/impasse.hpp"

#include <algorithm>

namespace muster::pods {
namespace {

Cause hopeless(const Reason& reason) {
  if (reason.code.find("Image") != std::string::npos) return Cause::image_pull;
  if (reason.code == "CreateContainerConfigError" || reason.code == "CreateContainerError")
    return Cause::user_config;
  return Cause::none;
}

}  // namespace

std::optional<Impasse> impasse_of(const Group& group, int nodes) {
  for (const auto& pod : group.pods) {
    const auto cause = pod.waits_for ? hopeless(*pod.waits_for) : Cause::none;
    if (cause != Cause::none)
      return Impasse{cause, pod.waits_for->code + ": " + pod.waits_for->text};
  }
  const bool has_end = std::any_of(group.pods.begin(), group.pods.end(), [](const auto& pod) {
    return pod.is_over() || pod.is_gone || pod.is_deleting;
  });
  const auto placed = std::count_if(group.pods.begin(), group.pods.end(),
                                    [](const auto& pod) { return !pod.node.empty(); });
  if (has_end || placed == 0 || placed >= nodes) return std::nullopt;
  return Impasse{Cause::queue_preempted,
                 fmt::format("{} of {} pods had a node and the others found none, so the nodes "
                             "were given back",
                             placed, nodes)};
}

}  // namespace muster::pods
