/// What a pod's row means for the attempt. The one place where Kubernetes' words become ours. Pure.
#pragma once
#include <string>

#include "core/model/observation.hpp"
#include "edge/pods/pod_row.hpp"

namespace muster::pods {

/// What is known beside the pod.
struct Around {
  std::string stop_why;       // muster stopped the attempt; empty when it did not
  int first_rank = 0;         // of the pod
  bool is_suspended = false;  // its Job, not by muster: the controller takes the pods away
};

Sight sight_of(const PodRow& row, const Around& around);

}  // namespace muster::pods
