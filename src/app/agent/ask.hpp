/// Questions to the agent of this pod, from a process that was started beside it (by exec).
#pragma once
#include <string>

#include "app/agent/places.hpp"
#include "base/error.hpp"

namespace muster::agent {

/// preparing, barrier, running, stopping or ended. `unavailable` when no agent runs here.
Result<std::string> ask_state(const Places& places);
/// Has it handed to the ranks.
Result<> send_signal(const Places& places, int signal);

}  // namespace muster::agent
