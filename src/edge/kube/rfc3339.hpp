/// Times as Kubernetes writes them: nanoseconds, and any offset from UTC. Pure; any thread.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace muster::kube {

/// "2026-03-01T12:00:00.123456789+02:00" as nanoseconds since 1970; nothing when it is no time.
std::optional<std::int64_t> nanoseconds_of(std::string_view text);

}  // namespace muster::kube
