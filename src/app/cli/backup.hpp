/// A copy of what a home cannot make again: the store, profiles, environments, secrets. Logs,
/// outputs and code are not in it. Taken beside a running server, without making it wait.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "app/cli/paths.hpp"
#include "base/error.hpp"

namespace muster {

struct Backup {
  std::string folder;
  std::string created;  // RFC 3339
  std::string version;  // of the muster that took it
  std::int64_t jobs = 0;
  std::int64_t last_event = 0;
  bool has_secrets = false;
};

/// Takes one into a new folder. It is whole when `backup.json` is there, which is written last.
Result<Backup> take_backup(const Paths& paths, const std::string& folder, bool with_secrets);

/// What a folder says of itself; refuses what is not whole.
Result<Backup> read_backup(const std::string& folder);

struct Restored {
  Backup backup;
  std::string before;             // where the store that was there is now; empty: there was none
  std::vector<std::string> kept;  // files that were there already, and stayed
};

enum class OldStore { refuse, move_aside };

/// Puts one into the home, which no server may have. A store that is there is moved aside, never
/// removed.
Result<Restored> restore_backup(const Paths& paths, const std::string& folder, OldStore old);

}  // namespace muster
