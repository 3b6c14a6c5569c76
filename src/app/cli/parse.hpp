/// argv -> Parsed, by the command table. Flags before the user's command are ours; from the first
/// word that is not a flag (or after --) everything is theirs. Pure; any thread.
#pragma once
#include <span>
#include <string>

#include "app/cli/parsed.hpp"

namespace muster {

/// `words` is argv without the program's name. A usage error names the nearest match.
Result<Parsed> parse_command_line(std::span<const std::string> words,
                                  const std::vector<Verb>& verbs);

}  // namespace muster
