/// Amounts as Kubernetes writes them: "500m", "16Gi", "1e3", "2". Pure; any thread.
#pragma once
#include <optional>
#include <string_view>

namespace muster::kube {

/// In whole units (cpus, bytes, pieces); nothing when it is no amount.
std::optional<double> parse_quantity(std::string_view text);

}  // namespace muster::kube
