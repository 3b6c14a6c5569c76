/// The plan of an attempt as it lies in a pod.
#pragma once
#include <string>

#include "base/error.hpp"
#include "core/model/plan.hpp"

namespace muster::agent {

struct PlanFile {
  Plan plan;
  std::string text;  // as it was written, the same in all pods
};
Result<PlanFile> read_plan_file(const std::string& path);

}  // namespace muster::agent
