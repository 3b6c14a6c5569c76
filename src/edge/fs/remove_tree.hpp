/// Removes a folder with all that is in it, also where modes forbid it to its owner. Never follows
/// a link. What cannot be removed stays; nobody is told.
#pragma once
#include <string>

namespace muster::fs {

void remove_tree(const std::string& path);

}  // namespace muster::fs
