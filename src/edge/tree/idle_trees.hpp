/// Removes restored trees that no job needs any more (restore_once makes them again). Never one
/// that is being restored or used: its lock is held before anybody is asked. Any process.
#pragma once
#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "base/error.hpp"
#include "base/time.hpp"

namespace muster::snapshot {

/// `used` tells the ids that jobs which have not ended run with; it is asked while trees are
/// locked, so that a job it does not know yet waits for the lock and finds nothing. Trees younger
/// than `age` stay, since the next job may want them. How many went.
Result<std::uint64_t> remove_idle_trees(const std::string& trees, Duration age,
                                        const std::function<Result<std::set<std::string>>()>& used);

}  // namespace muster::snapshot
