/// One node's part of a plan, as it is run in a pod: the image's own variables below the plan's.
/// Pure.
#pragma once
#include <string>

#include "app/agent/places.hpp"
#include "base/error.hpp"
#include "edge/process/node_order.hpp"

namespace muster::agent {

/// The order for node `index`. What the plan leaves to the pod (where trees and Python environments
/// go) is filled in.
Result<NodeOrder> order_for_pod(Plan plan, int index, const Environment& image,
                                const Places& places);

/// The plan's variables over the image's. Who did not ask for a PATH gets the image's, with what
/// the plan adds behind it.
Environment over_image(const Environment& plan, const Environment& image);

}  // namespace muster::agent
