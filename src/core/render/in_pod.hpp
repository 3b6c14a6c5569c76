/// What the inside of a pod adds to a plan: where rank 0 is, and the folders of the container.
/// Pure; any thread.
#pragma once
#include <string_view>

#include "core/plan/plan.hpp"
#include "core/render/names.hpp"

namespace muster::render {

/// Environment, checkpoint and previous cause are the caller's to add.
plan::Surroundings in_pod(const AttemptRef& ref, std::string_view home_id);

}  // namespace muster::render
