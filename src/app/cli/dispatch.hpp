/// One command line from its words to its exit code. main is a thin shell around it.
#pragma once
#include <functional>
#include <span>
#include <string>

#include "app/cli/context.hpp"

namespace muster {

/// Installs what only main knows (the way to the server) before a verb runs.
using Prepare = std::function<void(Context&)>;

/// Parses, helps, runs; every error ends here, as text on stderr and an exit code.
int run_command_line(std::span<const std::string> words, const std::vector<Verb>& verbs,
                     const Prepare& prepare);

/// The part after parsing: prints help or runs the verb.
int run_parsed(Context& context, const Parsed& parsed, const std::vector<Verb>& verbs);

}  // namespace muster
