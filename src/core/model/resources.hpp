/// What a job asks for, what a node has, what a placement holds.
#pragma once
#include <compare>
#include <map>
#include <string>
#include <vector>

#include "base/id.hpp"
#include "base/units.hpp"

namespace muster {

/// A job's request, resolved at submit. All amounts are per node.
struct Request {
  int nodes = 1;
  int procs_per_node = 1;
  int gpus_per_node = 0;
  MilliCpus cpus_per_node{1000};
  Bytes memory_per_node;  // 0: the node's share by cpus
  int ranks() const { return nodes * procs_per_node; }
  auto operator<=>(const Request&) const = default;
};

/// One node as its backend describes it. `memory` is what jobs may have: the reserve is taken off.
struct Node {
  NodeName name;
  std::string cluster = "local";  // the profile it belongs to
  MilliCpus cpus;
  Bytes memory;
  int gpus = 0;
  bool is_spot = false;
  std::map<std::string, std::string> labels;
  auto operator<=>(const Node&) const = default;
};

/// The name of a node the cluster itself has yet to choose.
inline const NodeName kOpenNode{"?"};

/// What one attempt holds on one node. Node index 0 carries rank 0.
struct Placement {
  NodeName node;
  int first_rank = 0;
  int ranks = 1;
  MilliCpus cpus;
  Bytes memory;
  std::vector<int> gpus;  // indices on the node
  auto operator<=>(const Placement&) const = default;
};

}  // namespace muster
