/// The pod of an attempt's node, as the template of its Job. Private to core/render.
#pragma once
#include <string>

#include "core/render/kube_job.hpp"

namespace boost::json {
class object;
}

namespace muster::render {

/// Everything of an attempt carries these: what selects it, and what people with kubectl look for.
boost::json::object labels_json(const Rendering& rendering);
boost::json::object pod_template(const Rendering& rendering);
/// Where its pods may go: node selector, affinity, tolerations, priority.
void add_places(boost::json::object& pod_spec, const PodSettings& settings);

}  // namespace muster::render
