/// Removes restored trees and Python environments that no job needs any more; whoever wants one
/// makes it again. Never one that is being made or used: its lock is held before anybody is asked.
/// Any process.
#pragma once
#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "base/error.hpp"
#include "base/time.hpp"

namespace muster::snapshot {

/// In a Python environment: it is whole; changed at every use.
inline constexpr const char* kVenvMark = ".muster-ready";

enum class Removing { really, only_told };

struct Removed {
  std::uint64_t folders = 0;
  std::uint64_t bytes = 0;  // on the disk
};

/// `used` tells what jobs which have not ended run with: ids of snapshots, or names of
/// environments. It is asked while folders are locked, so that a job it does not know yet waits for
/// the lock and finds nothing. What was used within `age` stays, since the next job may want it.
using Used = std::function<Result<std::set<std::string>>()>;
Result<Removed> remove_idle_trees(const std::string& trees, Duration age, const Used& used,
                                  Removing how = Removing::really);
Result<Removed> remove_idle_venvs(const std::string& venvs, Duration age, const Used& used,
                                  Removing how = Removing::really);

}  // namespace muster::snapshot
