#include "core/sched/why.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace muster::sched {
namespace {

/// What one node must have.
std::string node_text(const Request& request) {
  std::string need = fmt::format("{} cpu", to_text(request.cpus_per_node));
  if (request.gpus_per_node > 0) need += fmt::format(", {} gpu", request.gpus_per_node);
  if (request.memory_per_node.count > 0)
    need += fmt::format(", {}", to_text(request.memory_per_node));
  return need;
}

std::string need_text(const Request& request) {
  if (request.nodes == 1) return node_text(request) + " on one node";
  return fmt::format("{} on each of {} nodes", node_text(request), request.nodes);
}

std::string amounts(MilliCpus cpus, int gpus, Bytes memory) {
  std::string text = fmt::format("{} cpu", to_text(cpus));
  if (gpus > 0) text += fmt::format(", {} gpu", gpus);
  return text + fmt::format(", {}", to_text(memory));
}

template <class Less>
const NodeView* best_node(const View& view, const std::string& cluster, Less less) {
  const NodeView* best = nullptr;
  for (const auto& node : view.nodes)
    if (node.node.cluster == cluster && !node.is_gone && (best == nullptr || less(*best, node)))
      best = &node;
  return best;
}

std::int64_t count_of(const View& view, const std::string& cluster) {
  return std::count_if(view.nodes.begin(), view.nodes.end(), [&](const auto& node) {
    return node.node.cluster == cluster && !node.is_gone;
  });
}

std::string holders_text(const std::vector<Holder>& holders, const std::string& cluster,
                         WallTime now) {
  std::vector<std::string> parts;
  for (const auto& holder : holders) {
    if (holder.cluster != cluster) continue;
    if (parts.size() == 3) {
      parts.emplace_back("…");
      break;
    }
    parts.push_back(
        fmt::format("{} ({} for {})", holder.job.str(), holder.user, to_text(now - holder.since)));
  }
  return join(parts, ", ");
}

/// On how many nodes the same number of processes would fit; 0: on no number of them.
int spread_over_nodes(const View& view, const std::string& cluster, const Request& request) {
  for (int procs = request.procs_per_node - 1; procs >= 1; --procs) {
    if (request.ranks() % procs != 0) continue;
    auto smaller = request;
    smaller.nodes = request.ranks() / procs;
    smaller.procs_per_node = procs;
    smaller.cpus_per_node.count = request.cpus_per_node.count / request.procs_per_node * procs;
    smaller.gpus_per_node = request.gpus_per_node / request.procs_per_node * procs;
    if (could_ever_fit(view, cluster, smaller)) return smaller.nodes;
  }
  return 0;
}

Reason busy(const Question& q) {
  const auto less = [](const NodeView& a, const NodeView& b) {
    return std::pair(a.gpus_free.size(), a.cpus_free) < std::pair(b.gpus_free.size(), b.cpus_free);
  };
  const auto* best = best_node(q.view, q.job.cluster, less);
  Reason reason{.code = "busy",
                .text = fmt::format("needs {}", need_text(q.job.request)),
                .fix = "wait, or ask for less"};
  if (best != nullptr)
    reason.text += fmt::format(
        "; most free is {} ({})",
        amounts(best->cpus_free, static_cast<int>(best->gpus_free.size()), best->memory_free),
        best->node.name.str());
  const auto held_by = holders_text(q.holders, q.job.cluster, q.now.wall);
  if (!held_by.empty()) reason.text += fmt::format("; held by {}", held_by);
  return reason;
}

/// The multi-node job that is still getting its nodes, where gangs are let in one at a time.
const Holder* gang_before(const Question& q) {
  if (q.job.request.nodes == 1 || !q.view.places_itself(q.job.cluster)) return nullptr;
  for (const auto& holder : q.holders)
    if (holder.cluster == q.job.cluster && holder.placements.size() > 1 && !holder.has_its_nodes)
      return &holder;
  return nullptr;
}

}  // namespace

std::vector<Reason> why_never(const View& view, const std::string& cluster,
                              const Request& request) {
  if (could_ever_fit(view, cluster, request)) return {};
  const auto nodes = count_of(view, cluster);
  if (nodes == 0)
    return {{.code = "no_nodes",
             .text = fmt::format("cluster \"{}\" has no nodes", cluster),
             .fix = "check the cluster's profile: muster config explain"}};
  const auto able = std::count_if(view.nodes.begin(), view.nodes.end(), [&](const auto& node) {
    return node.node.cluster == cluster && !node.is_gone && fits_empty(node, request);
  });
  if (able > 0)
    return {{.code = "too_few_nodes",
             .text = fmt::format("needs {} nodes with {} each; only {} can hold that",
                                 request.nodes, node_text(request), able),
             .fix = fmt::format("ask for --nodes {}, or add nodes to the profile", able)}};
  const auto less = [](const NodeView& a, const NodeView& b) {
    return std::tuple(a.node.gpus, a.node.cpus, a.node.memory) <
           std::tuple(b.node.gpus, b.node.cpus, b.node.memory);
  };
  const auto* largest = best_node(view, cluster, less);
  const auto spread = spread_over_nodes(view, cluster, request);
  return {
      {.code = "no_such_node",
       .text = fmt::format("needs {}; the largest node has {} ({})", need_text(request),
                           amounts(largest->node.cpus, largest->node.gpus, largest->node.memory),
                           largest->node.name.str()),
       .fix = spread == 0 ? "ask for less a node, or add a larger node to the profile"
                          : fmt::format("spread it: --nodes {}", spread)}};
}

std::vector<Reason> why_waiting(const Question& q) {
  auto reasons = why_never(q.view, q.job.cluster, q.job.request);
  if (!reasons.empty()) return reasons;
  if (q.job.not_before > q.now.run)
    reasons.push_back(
        {.code = "back_off",
         .text = fmt::format("attempt {} ended with {}; the next one starts in {}", q.job.attempts,
                             name_of(q.job.cause), to_text(q.job.not_before - q.now.run)),
         .fix = "nothing: it is retried by itself"});
  if (q.ahead > 0)
    reasons.push_back({.code = "turn",
                       .text = fmt::format("{} job{} before it in the queue", q.ahead,
                                           q.ahead == 1 ? " is" : "s are"),
                       .fix = "wait, or give it a higher --priority"});
  if (q.is_first_enough && !reasons.empty()) return reasons;
  if (const auto* gang = gang_before(q))
    reasons.push_back({.code = "gang_turn",
                       .text = fmt::format("{} is still getting its nodes; multi-node jobs are let "
                                           "into this cluster one at a time",
                                           gang->job.str()),
                       .fix = "wait, or stop the other one: muster abort " + gang->job.str()});
  if (!place(q.view, q.job.cluster, q.job.request)) reasons.push_back(busy(q));
  if (reasons.empty())
    reasons.push_back({.code = "starting_soon",
                       .text = "it fits and is the next to be placed",
                       .fix = "nothing: it starts at once"});
  return reasons;
}

}  // namespace muster::sched
