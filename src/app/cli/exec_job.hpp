/// A command beside a rank of a running job, wherever that is. One thread.
#pragma once
#include <string>
#include <vector>

#include "app/cli/context.hpp"

namespace muster {

struct ExecWish {
  std::string id;  // as typed
  int rank = 0;
  std::vector<std::string> argv;
};

/// The command's exit code: 127 when there is no such program, 126 when it cannot be run. On this
/// machine it does not return when all goes well: this process becomes the command.
Result<int> exec_in_job(Context& context, const ExecWish& wish);

}  // namespace muster
