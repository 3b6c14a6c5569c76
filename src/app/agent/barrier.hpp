/// Where the nodes of an attempt wait for each other before any rank starts. Node 0 listens, the
/// others come to it; it lets all go when all are there. When the deadline passes, everybody who
/// can be told learns who is missing. Blocks; for a process of its own.
#pragma once
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/time.hpp"
#include "core/model/plan.hpp"

namespace muster::agent {

inline constexpr int kBarrierPort = 29499;

struct BarrierPlan {
  int index = 0;
  std::vector<NodePlan> nodes;  // all of the attempt's
  std::string address;          // of node 0
  int port = kBarrierPort;
  std::string token;  // the same for all of them, and nobody else's
  Duration patience = std::chrono::minutes(10);
};

/// An error's `where` is "barrier"; it names the ranks that are missing, and their nodes' indices.
Result<> wait_for_peers(const BarrierPlan& plan);

/// "4-7 (index 1), 12-15 (index 3)"
std::string missing_text(const std::vector<NodePlan>& nodes, const std::vector<int>& missing);

}  // namespace muster::agent
