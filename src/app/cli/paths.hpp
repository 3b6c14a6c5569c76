/// Where things live: $MUSTER_HOME for all of it, else the XDG directories. Pure; any thread.
#pragma once
#include <optional>
#include <string>

#include "base/error.hpp"
#include "core/model/plan.hpp"

namespace muster {

struct Paths {
  std::string state;        // the home of server, store, jobs, socket
  std::string config_file;  // the user's config.yaml
  std::string cache;
};

/// What is known of the person: their home folder where the environment does not say, their folder
/// now.
struct Whereabouts {
  std::optional<std::string> home_flag;    // --home
  std::optional<std::string> passwd_home;  // of the passwd entry
  std::string dir;                         // the current folder, absolute
};

Result<Paths> find_paths(const Environment& env, const Whereabouts& where);

}  // namespace muster
