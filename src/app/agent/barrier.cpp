#include "app/agent/barrier.hpp"

#include "app/agent/barrier_sides.hpp"

namespace muster::agent {
namespace {

std::string ranks_text(const NodePlan& node) {
  if (node.ranks.empty()) return "none";
  const int first = node.ranks.front().rank, last = node.ranks.back().rank;
  return first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
}

}  // namespace

std::string missing_text(const std::vector<NodePlan>& nodes, const std::vector<int>& missing) {
  std::string text;
  for (const auto& node : nodes)
    if (std::find(missing.begin(), missing.end(), node.index) != missing.end())
      text +=
          fmt::format("{}{} (index {})", text.empty() ? "" : ", ", ranks_text(node), node.index);
  return text;
}

tl::unexpected<Error> fail_missing(const BarrierPlan& plan, const std::vector<int>& missing,
                                   std::string why) {
  auto failed =
      fail(Kind::unavailable, fmt::format("missing rank(s) {}", missing_text(plan.nodes, missing)));
  failed.value().where = "barrier";
  failed.value().why = std::move(why);
  return failed;
}

Result<> wait_for_peers(const BarrierPlan& plan) {
  if (plan.nodes.size() <= 1) return {};
  return plan.index == 0 ? gather_peers(plan) : join_peers(plan);
}

}  // namespace muster::agent
