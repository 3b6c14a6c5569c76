/// A command beside a rank of this pod, for `muster exec`. One thread.
#pragma once
#include <string>
#include <vector>

#include "base/error.hpp"
#include "core/model/plan.hpp"

namespace muster::agent {

struct ExecOrder {
  std::string plan_file;
  int rank = 0;
  std::vector<std::string> argv;
  Environment own;  // the variables of this process
};

/// Becomes the command. Returns only when it could not: 127 when there is no such program, 126 when
/// it cannot be run, as a shell does; an error when the rank does not run here.
Result<int> exec_beside(const ExecOrder& order);

}  // namespace muster::agent
