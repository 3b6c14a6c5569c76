/// The exit record as a termination message, which the kubelet cuts at 4096 bytes: what matters
/// least is left out until it fits, and it is a whole document in any case. Pure.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/model/exit_record.hpp"

namespace muster::agent {

inline constexpr std::size_t kTerminationMessage = 4096;

/// As exit.json; readers take an absent field for its default. Left out in this order: hashes,
/// times, what was used, the order of failures (the first one then stands first), sizes of logs,
/// ranks that succeeded, all but the first failure.
std::string short_record(const ExitRecord& record, int attempt, std::int64_t epoch,
                         std::size_t most = kTerminationMessage);

}  // namespace muster::agent
