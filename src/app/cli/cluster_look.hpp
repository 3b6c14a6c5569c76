/// A Kubernetes cluster seen from this machine: reached as the server would reach it, surveyed, and
/// what was seen put into words. One thread.
#pragma once
#include <string>
#include <vector>

#include "app/cli/findings.hpp"
#include "base/table.hpp"
#include "core/spec/config.hpp"
#include "edge/kube/kubeconfig.hpp"
#include "edge/kube/survey.hpp"

namespace muster {

struct ClusterLook {
  std::string context;  // of the kubeconfig
  std::string server;   // its address
  std::string space;    // the jobs' namespace
  kube::Survey survey;
};

/// The profile says where: kubeconfig, context and namespace. An error when nobody answers there.
Result<ClusterLook> look_at_cluster(const Context& context, const spec::Profile& profile);

/// What it means for jobs of this profile; what is missing comes with its fix. Pure.
std::vector<Finding> findings_of(const ClusterLook& look, const spec::Profile& profile);

/// Nodes that are alike in one row. Pure.
Table nodes_table(const std::vector<kube::SurveyedNode>& nodes);

/// What jobs count as GPUs there: the device that most nodes have of those called so; empty: none.
std::string gpu_resource_of(const std::vector<kube::SurveyedNode>& nodes);
/// How many each node with any has, when it is the same for all; else 0.
int gpus_per_node_of(const std::vector<kube::SurveyedNode>& nodes, const std::string& resource);

}  // namespace muster
