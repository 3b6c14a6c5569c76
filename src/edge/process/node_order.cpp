#include "edge/process/node_order.hpp"

#include "core/model/codec.hpp"
#include "core/model/json.hpp"

namespace muster {
namespace {

std::string text_in(const json::object& in, std::string_view name) {
  const auto* value = field(in, name);
  return value == nullptr ? std::string() : bytes_from_json(*value).value_or(std::string());
}

}  // namespace

// Two lines, so that the plan, which may hold a large environment, is parsed once.
std::string encode(const NodeOrder& order) {
  const json::object head{{"v", 1},
                          {"home", bytes_to_json(order.home)},
                          {"home_id", order.home_id},
                          {"build_id", order.build_id},
                          {"node", order.node},
                          {"memory", order.slot.memory},
                          {"cpuacct", order.slot.cpuacct},
                          {"freezer", order.slot.freezer}};
  return json::serialize(head) + "\n" + encode(order.plan);
}

Result<NodeOrder> decode_node_order(std::string_view text) {
  const auto cut = text.find('\n');
  if (cut == std::string_view::npos) return fail(Kind::corrupt, "a node order has no plan");
  TRY(const auto head, parse_json(text.substr(0, cut)));
  if (!head.is_object()) return fail(Kind::corrupt, "a node order is not an object");
  const auto& in = head.get_object();
  const auto* node = field(in, "node");
  if (node == nullptr || !node->is_int64()) return fail(Kind::corrupt, "a node order has no node");
  TRY(auto plan, within(decode_plan(text.substr(cut + 1)), "the plan of a node order"));
  if (plan.nodes.size() != 1) return fail(Kind::corrupt, "a node order is for exactly one node");
  return NodeOrder{.home = text_in(in, "home"),
                   .home_id = text_in(in, "home_id"),
                   .build_id = text_in(in, "build_id"),
                   .node = static_cast<int>(node->get_int64()),
                   .slot = {text_in(in, "memory"), text_in(in, "cpuacct"), text_in(in, "freezer")},
                   .plan = std::move(plan)};
}

}  // namespace muster
