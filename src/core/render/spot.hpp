/// Nodes that may be taken away at any time, as the providers mark them. Pure; any thread.
#pragma once
#include <string_view>

namespace muster::render {

/// Whether this label of a node says so.
bool is_spot_mark(std::string_view key, std::string_view value);

}  // namespace muster::render
