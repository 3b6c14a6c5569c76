/// Gives a launch its plan on this machine: spec from the store, environment from its file, the
/// checkpoint to resume from. Driver's thread.
#pragma once
#include <string>

#include "app/driver/driver.hpp"
#include "app/server/env_store.hpp"

namespace muster::server {

struct Places {
  std::string home;
  std::string home_id;
  std::string tools_dir;
};

driver::Equip make_equip(Store& store, const EnvStore& envs, Places places);

/// Puts the bytes of this home's secrets in the place of `secret://NAME`.
Result<> reveal(Environment& env, const std::string& home);

/// The newest complete entry of a checkpoint directory: not hidden, not a temporary name.
std::string newest_checkpoint(const std::string& dir);

}  // namespace muster::server
