/// Attached to a job: its output here, Ctrl-C there, its exit code at the end.
#pragma once
#include <string>

#include "app/cli/context.hpp"

namespace muster {

enum class OnInterrupt {
  signal_job,  // Ctrl-C goes to the job; a second one within 3 s cancels it
  detach,      // Ctrl-C stops watching; a second one within 3 s cancels the job
};

Result<int> follow_to_end(Context& context, const std::string& id, int ranks,
                          OnInterrupt on_interrupt);

}  // namespace muster
