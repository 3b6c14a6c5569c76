#include "core/sched/view.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/check.hpp"

namespace muster::sched {
namespace {

NodeView empty_view(const Node& node) {
  NodeView view{.node = node,
                .cpus_free = node.cpus,
                .memory_free = node.memory,
                .gpus_free = std::vector<int>(static_cast<std::size_t>(node.gpus))};
  std::iota(view.gpus_free.begin(), view.gpus_free.end(), 0);
  return view;
}

NodeView* find(View& view, const std::string& cluster, const NodeName& name) {
  for (auto& node : view.nodes)
    if (node.node.name == name && node.node.cluster == cluster) return &node;
  return nullptr;
}

bool serves(const NodeView& node, const std::string& cluster) {
  return node.node.cluster == cluster && !node.is_gone;
}

Placement placement_on(const NodeView& node, const Request& request, int index) {
  Placement placement{.node = node.node.name,
                      .first_rank = index * request.procs_per_node,
                      .ranks = request.procs_per_node,
                      .cpus = request.cpus_per_node,
                      .memory = memory_needed(node.node, request)};
  placement.gpus.assign(node.gpus_free.begin(), node.gpus_free.begin() + request.gpus_per_node);
  return placement;
}

void take(NodeView& node, const Placement& placement) {
  node.cpus_free -= placement.cpus;
  node.memory_free -= placement.memory;
  for (const int gpu : placement.gpus) {
    const auto at = std::find(node.gpus_free.begin(), node.gpus_free.end(), gpu);
    if (at != node.gpus_free.end())
      node.gpus_free.erase(at);
    else
      MUSTER_CHECK(gpu >= node.node.gpus, "gpu {} of node {} is held twice", gpu,
                   node.node.name.str());
  }
}

}  // namespace

// Inside a pod GPUs are counted from 0.
std::vector<Placement> open_placements(const Request& request) {
  std::vector<Placement> placements;
  for (int index = 0; index < request.nodes; ++index) {
    Placement placement{.node = kOpenNode,
                        .first_rank = index * request.procs_per_node,
                        .ranks = request.procs_per_node,
                        .cpus = request.cpus_per_node,
                        .memory = request.memory_per_node};
    placement.gpus.resize(static_cast<std::size_t>(request.gpus_per_node));
    std::iota(placement.gpus.begin(), placement.gpus.end(), 0);
    placements.push_back(std::move(placement));
  }
  return placements;
}

Bytes memory_needed(const Node& node, const Request& request) {
  if (request.memory_per_node.count > 0) return request.memory_per_node;
  if (node.cpus.count <= 0) return Bytes{0};
  const auto share = static_cast<double>(node.memory.count) *
                     static_cast<double>(request.cpus_per_node.count) /
                     static_cast<double>(node.cpus.count);
  return Bytes{static_cast<std::int64_t>(share)};
}

bool fits_now(const NodeView& node, const Request& request) {
  return node.cpus_free >= request.cpus_per_node &&
         std::ssize(node.gpus_free) >= request.gpus_per_node &&
         node.memory_free >= memory_needed(node.node, request);
}

bool fits_empty(const NodeView& node, const Request& request) {
  return fits_now(empty_view(node.node), request);
}

std::optional<std::vector<Placement>> place(const View& view, const std::string& cluster,
                                            const Request& request) {
  if (view.places_itself(cluster)) return open_placements(request);
  std::vector<const NodeView*> fitting;
  for (const auto& node : view.nodes)
    if (serves(node, cluster) && fits_now(node, request)) fitting.push_back(&node);
  if (std::ssize(fitting) < request.nodes) return std::nullopt;
  const auto fullness = [](const NodeView* node) {
    return std::tuple(node->gpus_free.size(), node->cpus_free.count);
  };
  std::stable_sort(fitting.begin(), fitting.end(),
                   [&](const auto* a, const auto* b) { return fullness(a) < fullness(b); });
  std::vector<Placement> placements;
  for (int index = 0; index < request.nodes; ++index)
    placements.push_back(placement_on(*fitting[static_cast<std::size_t>(index)], request, index));
  return placements;
}

bool could_ever_fit(const View& view, const std::string& cluster, const Request& request) {
  if (view.places_itself(cluster)) return true;
  const auto able = std::count_if(view.nodes.begin(), view.nodes.end(), [&](const auto& node) {
    return serves(node, cluster) && fits_empty(node, request);
  });
  return able >= request.nodes;
}

void hold(View& view, const std::string& cluster, const std::vector<Placement>& placements) {
  if (view.places_itself(cluster)) return;
  for (const auto& placement : placements) {
    auto* node = find(view, cluster, placement.node);
    MUSTER_CHECK(node != nullptr, "no node {}", placement.node.str());
    take(*node, placement);
    const bool is_over = node->cpus_free.count < 0 || node->memory_free.count < 0;
    MUSTER_CHECK(!is_over && !node->is_gone, "node {} overcommitted", placement.node.str());
  }
}

void release(View& view, const std::string& cluster, const std::vector<Placement>& placements) {
  if (view.places_itself(cluster)) return;
  for (const auto& placement : placements) {
    auto* node = find(view, cluster, placement.node);
    MUSTER_CHECK(node != nullptr, "no node {}", placement.node.str());
    node->cpus_free += placement.cpus;
    node->memory_free += placement.memory;
    for (const int gpu : placement.gpus)
      if (gpu < node->node.gpus)
        node->gpus_free.insert(
            std::lower_bound(node->gpus_free.begin(), node->gpus_free.end(), gpu), gpu);
    const bool is_over = node->cpus_free > node->node.cpus || node->memory_free > node->node.memory;
    MUSTER_CHECK(!is_over || node->is_gone, "node {} was given back more than it has",
                 placement.node.str());
  }
}

View with_inventory(const Inventory& inventory, const std::vector<Holder>& holders) {
  View view{.nodes = {}, .self_placing = inventory.self_placing};
  for (const auto& node : inventory.nodes) view.nodes.push_back(empty_view(node));
  for (const auto& holder : holders) {
    if (view.places_itself(holder.cluster)) continue;
    for (const auto& placement : holder.placements) {
      auto* node = find(view, holder.cluster, placement.node);
      if (node == nullptr) {
        view.nodes.push_back(empty_view(Node{.name = placement.node, .cluster = holder.cluster}));
        node = &view.nodes.back();
        node->is_gone = true;
      }
      take(*node, placement);  // may go below zero: the node shrank under its attempts
    }
  }
  return view;
}

}  // namespace muster::sched
