/// fold(events) == tables, on a stored history.
#pragma once
#include <string>

#include "edge/sqlite/records.hpp"

namespace muster::server {

/// Empty when they agree; else the first difference in words.
Result<std::string> fold_difference(Records& records);

}  // namespace muster::server
