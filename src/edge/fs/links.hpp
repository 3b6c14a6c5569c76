/// Symbolic links.
#pragma once
#include <string>

namespace muster::fs {

/// Where a link leads, as it stands there; empty when there is none.
std::string link_target(const std::string& path);

}  // namespace muster::fs
