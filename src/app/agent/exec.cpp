#include "app/agent/exec.hpp"

#include <cstdio>

#include "app/agent/plan_file.hpp"
#include "edge/process/enter.hpp"

namespace muster::agent {

Result<int> exec_beside(const ExecOrder& order) {
  TRY(const auto file, read_plan_file(order.plan_file));
  const auto& plan = file.plan;
  TRY(auto place, process::find_rank(plan.ref.job.str(), plan.ref.attempt, order.rank));
  // The terminal is the caller's, not the job's.
  if (const auto term = order.own.find("TERM"); term != order.own.end())
    place.env["TERM"] = term->second;
  // The container is its cgroup already.
  TRY(const auto failure, process::become_neighbour(place, {}, order.argv));
  fmt::print(stderr, "muster: {}\n", failure.why);
  return failure.exit;
}

}  // namespace muster::agent
