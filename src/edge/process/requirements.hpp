/// A list of requirements with the lists it names, as far as they decide what is installed.
#pragma once
#include <optional>
#include <string>

namespace muster::process {

struct Requirements {
  std::string text;         // of the list and of those it includes, in order
  bool needs_tree = false;  // something is installed from the tree itself
};

/// Nothing when there is no such list in the tree.
std::optional<Requirements> requirements_of(const std::string& tree, const std::string& list);

}  // namespace muster::process
