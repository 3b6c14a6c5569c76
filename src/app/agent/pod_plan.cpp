#include "app/agent/pod_plan.hpp"

#include "core/plan/plan.hpp"

namespace muster::agent {
namespace {

std::string value_of(const Environment& env, const std::string& name) {
  const auto found = env.find(name);
  return found == env.end() ? std::string() : found->second;
}

/// Where the job will run is known here only.
void name_node(NodePlan& node, const Environment& image) {
  const auto name = value_of(image, "MUSTER_NODE");
  if (name.empty()) return;
  for (auto& rank : node.ranks) rank.env["MUSTER_NODE"] = name;
}

}  // namespace

Environment over_image(const Environment& plan, const Environment& image) {
  Environment env = image;
  for (const auto& [name, value] : plan) env[name] = value;
  const auto asked = value_of(plan, "PATH"), own = value_of(image, "PATH");
  if (asked.starts_with(plan::kUsualPath) && !own.empty())
    env["PATH"] = own + asked.substr(plan::kUsualPath.size());
  return env;
}

Result<NodeOrder> order_for_pod(Plan plan, int index, const Environment& image,
                                const Places& places) {
  const auto node = std::find_if(plan.nodes.begin(), plan.nodes.end(),
                                 [&](const NodePlan& one) { return one.index == index; });
  if (node == plan.nodes.end())
    return fail(Kind::usage, fmt::format("the plan has no node {}", index),
                "give --index, or the plan of this job");
  NodePlan own = std::move(*node);
  if (own.ranks.empty()) return fail(Kind::corrupt, fmt::format("node {} has no ranks", index));
  name_node(own, image);
  plan.nodes = {std::move(own)};
  plan.env = over_image(plan.env, image);
  if (plan.folder.trees.empty()) plan.folder.trees = places.trees();
  if (plan.folder.venvs.empty()) plan.folder.venvs = places.venvs();
  if (plan.folder.name.empty()) plan.folder.name = "code";
  return NodeOrder{.home = places.root,
                   .home_id = value_of(plan.env, "MUSTER_HOME_ID"),
                   .build_id = {},
                   .node = index,
                   .slot = {},
                   .plan = std::move(plan)};
}

}  // namespace muster::agent
