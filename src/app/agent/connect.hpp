/// TCP to another node of the attempt, or to the server. Blocks; for a process of its own.
#pragma once
#include <string>

#include "base/error.hpp"
#include "base/time.hpp"
#include "base/unique_fd.hpp"

namespace muster::agent {

/// True when it is ready before then (monotonic).
bool wait_for(int fd, short what, Duration until);
/// The first of its addresses that answers, each in `patience`. The name is looked up anew: who
/// has it may have moved. The socket does not block.
Result<UniqueFd> connect_to(const std::string& host, int port, Duration patience);

}  // namespace muster::agent
