/// Objects of Kubernetes on stdout, as kubectl takes them. One thread.
#pragma once
#include <string>
#include <vector>

#include "app/cli/context.hpp"

namespace muster {

/// A List in JSON, one document after the other in YAML.
Result<> print_documents(Context& context, const std::vector<std::string>& documents);

}  // namespace muster
