/// What a supervisor is told: one node of one attempt. Travels server -> zygote as one frame.
#pragma once
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "core/model/plan.hpp"
#include "edge/process/cgroup.hpp"

namespace muster {

struct NodeOrder {
  std::string home;
  std::string home_id;
  std::string build_id;
  int node = 0;  // its index in the attempt
  process::Slot slot;
  Plan plan;  // with this node alone in `nodes`
};

std::string encode(const NodeOrder& order);
Result<NodeOrder> decode_node_order(std::string_view text);

}  // namespace muster
