/// Help, rendered from the command table and the embedded texts. Pure; any thread.
#pragma once
#include <string>

#include "app/cli/verb.hpp"

namespace muster {

/// What `muster` alone says.
std::string welcome_text();
/// All verbs, by group.
std::string overview_text(const std::vector<Verb>& verbs);
/// One verb: summary, usage, its text (examples first), its options by group.
std::string help_text(const Verb& verb);
/// A page folded to a terminal: paragraphs and the right side of rows. Width 0: as it is.
std::string fitted(std::string_view page, std::size_t width);
/// The verb's embedded .md; empty when there is none.
std::string_view verb_page(const Verb& verb);

}  // namespace muster
