/// Stops the server of a home and waits until it is gone. Running jobs go on.
#pragma once
#include <string>

#include "base/error.hpp"

namespace muster {

/// False when none was running.
Result<bool> stop_server(const std::string& home);

}  // namespace muster
