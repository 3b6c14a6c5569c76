/// Takes a home away: all that muster made there and nothing else. Asks the store whether anything
/// still runs, and holds the home's lock meanwhile, so that no server comes up in between.
#pragma once
#include <string>
#include <vector>

#include "app/cli/paths.hpp"
#include "base/error.hpp"

namespace muster {

struct Removal {
  std::vector<std::string> removed;  // paths; with `only_told`: those that would be
  std::vector<std::string> kept;     // of muster, and asked to stay
  std::vector<std::string> strange;  // not of muster
};

struct UninstallWish {
  bool is_purge = false;   // profiles and secrets, too
  bool only_told = false;  // nothing is removed
};

/// `conflict` when a job is not over, and, where something is to be removed, while a server runs.
Result<Removal> uninstall(const Paths& paths, const UninstallWish& wish);

}  // namespace muster
