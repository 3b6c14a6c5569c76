/// What follows an accepted submission: its id, and where asked for, its output or its end.
#pragma once
#include <string>
#include <vector>

#include "app/cli/client.hpp"
#include "app/cli/verb.hpp"

namespace muster {

struct SubmittedJob {
  std::string name;  // what the person called it; empty: not known
  int ranks = 1;     // 0: not known
};

/// --follow and --wait.
std::vector<Option> after_submit_flags();
/// The exit code of the verb.
Result<int> after_submit(Context& context, const Parsed& parsed, const Accepted& accepted,
                         const SubmittedJob& job);

}  // namespace muster
