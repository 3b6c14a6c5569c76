/// The home of one user's world: its directories, the lock that makes one server of it, the copy of
/// the program that shims run.
#pragma once
#include <string>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace muster::server {

/// Makes the home (0700) and checks that it is ours and closed to others.
Result<> prepare_home(const std::string& home);

/// Holds the home for this process. A second server is refused, naming who holds it.
Result<UniqueFd> lock_home(const std::string& home);

struct Tools {
  std::string binary;  // stays valid when the installed program is replaced
  std::string dir;     // get_cores and friends, for PATH
};
/// Links (or copies) the running program to bin/muster-<buildid>.
Result<Tools> install_tools(const std::string& home, const std::string& build_id);

}  // namespace muster::server
