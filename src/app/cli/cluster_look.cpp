#include "app/cli/cluster_look.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "edge/kube/cluster.hpp"

namespace muster {
namespace {

/// Somebody waits at a terminal: fewer tries than a server makes.
constexpr int kTries = 2;
constexpr auto kPatience = std::chrono::seconds(15);

bool is_gpu(std::string_view device) {
  return device.ends_with("/gpu") || device.find("/mig-") != std::string_view::npos ||
         device.starts_with("gpu.");
}

std::string devices_text(const kube::SurveyedNode& node) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : node.devices) parts.push_back(fmt::format("{} {}", count, name));
  return join(parts, ", ");
}

std::string state_text(const kube::SurveyedNode& node) {
  return !node.is_ready ? "not ready" : node.is_open ? "ready" : "closed";
}

using Cells = std::vector<std::string>;

Cells cells_of(const kube::SurveyedNode& node) {
  return {node.type.empty() ? "-" : node.type,
          to_text(node.cpus),
          to_text(node.memory),
          node.devices.empty() ? "-" : devices_text(node),
          node.is_spot ? "yes" : "no",
          state_text(node),
          node.taints.empty() ? "-" : join(node.taints, ",")};
}

}  // namespace

Result<ClusterLook> look_at_cluster(const Context& context, const spec::Profile& profile) {
  TRY(auto target,
      kube::load({.path = profile.kubeconfig, .context = profile.context, .env = context.env}));
  if (!profile.pod.name_space.empty()) target.space = profile.pod.name_space;
  ClusterLook look{.context = target.context,
                   .server = target.cluster.server,
                   .space = target.space,
                   .survey = {}};
  TRY(auto cluster,
      kube::Cluster::open(std::move(target),
                          {.retries = kTries, .patience = kPatience, .env = context.env}));
  kube::Api api(std::move(cluster));
  TRY(look.survey, kube::survey(api, look.space));
  return look;
}

Table nodes_table(const std::vector<kube::SurveyedNode>& nodes) {
  std::vector<std::pair<Cells, int>> groups;
  for (const auto& node : nodes) {
    auto cells = cells_of(node);
    const auto found = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto& group) { return group.first == cells; });
    if (found == groups.end())
      groups.emplace_back(std::move(cells), 1);
    else
      ++found->second;
  }
  Table table;
  table.columns = {{.title = "NODES", .is_number = true},
                   {.title = "TYPE"},
                   {.title = "CPUS", .is_number = true},
                   {.title = "MEMORY", .is_number = true},
                   {.title = "DEVICES"},
                   {.title = "SPOT"},
                   {.title = "STATE"},
                   {.title = "TAINTS", .is_flexible = true}};
  for (auto& [cells, count] : groups) {
    for (auto& cell : cells) cell = printable(cell);
    cells.insert(cells.begin(), std::to_string(count));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

std::string gpu_resource_of(const std::vector<kube::SurveyedNode>& nodes) {
  std::map<std::string, int> seen;
  for (const auto& node : nodes)
    for (const auto& [name, count] : node.devices)
      if (is_gpu(name)) ++seen[name];
  const auto most = std::max_element(
      seen.begin(), seen.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == seen.end() ? "" : most->first;
}

int gpus_per_node_of(const std::vector<kube::SurveyedNode>& nodes, const std::string& resource) {
  std::int64_t each = 0;
  for (const auto& node : nodes) {
    const auto found = node.devices.find(resource);
    if (found == node.devices.end()) continue;
    if (each != 0 && each != found->second) return 0;
    each = found->second;
  }
  return static_cast<int>(each);
}

}  // namespace muster
