/// What there is and what is free. Values; the scheduling cycle takes from a view, the end of an
/// attempt gives back.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "core/model/job.hpp"
#include "core/model/observation.hpp"

namespace muster::sched {

struct NodeView {
  Node node;
  MilliCpus cpus_free;
  Bytes memory_free;
  std::vector<int> gpus_free;  // ascending
  bool is_gone = false;        // no longer in the inventory; kept while attempts hold it
};

struct View {
  std::vector<NodeView> nodes;  // in inventory order
  std::set<std::string>
      self_placing;  // clusters that choose nodes themselves: nothing is held there
  bool places_itself(const std::string& cluster) const { return self_placing.contains(cluster); }
};

/// Who holds what: shown to those who wait.
struct Holder {
  JobId job;
  std::string user;
  std::string cluster;
  std::vector<Placement> placements;
  WallTime since;
  bool has_its_nodes = true;  // as far as they are chosen by others
};

/// What the job needs of this node: its own amount, else the node's share by cpus.
Bytes memory_needed(const Node& node, const Request& request);

/// Whether one node of the request fits here now / if the node were empty.
bool fits_now(const NodeView& node, const Request& request);
bool fits_empty(const NodeView& node, const Request& request);

/// All nodes of the request, or nothing. Prefers the fullest nodes that fit; first in order on
/// ties.
std::optional<std::vector<Placement>> place(const View& view, const std::string& cluster,
                                            const Request& request);
/// Placements on nodes that the cluster itself has yet to choose.
std::vector<Placement> open_placements(const Request& request);
/// Whether it would fit if the cluster were empty.
bool could_ever_fit(const View& view, const std::string& cluster, const Request& request);

/// Never overcommits: taking what is not free is a broken invariant.
void hold(View& view, const std::string& cluster, const std::vector<Placement>& placements);
void release(View& view, const std::string& cluster, const std::vector<Placement>& placements);

/// The new inventory with the same attempts still holding what they hold.
View with_inventory(const Inventory& inventory, const std::vector<Holder>& holders);

}  // namespace muster::sched
