/// Reads the configuration's files and hands their texts to core/spec. One thread.
#pragma once
#include <string>

#include "app/cli/context.hpp"
#include "core/spec/config.hpp"

namespace muster {

/// The project's muster.yaml: in this folder, or above it up to the root of the repository. Outside
/// a repository only this folder counts, so that nobody's file in /tmp is picked up by accident.
std::optional<std::string> find_project_file(const std::string& dir);

/// Every layer: --cluster, the environment, the project's file, the user's file, built in.
Result<spec::Config> load_config(const Context& context);

}  // namespace muster
