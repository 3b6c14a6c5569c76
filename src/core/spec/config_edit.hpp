/// A profile put into the text of a config.yaml; every other byte of it stays. Pure; any thread.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace muster::spec {

/// Keys with one value each, in the order they are written.
struct NewProfile {
  std::string name;
  std::vector<std::pair<std::string, std::string>> values;
};

/// The profile as lines of a file, indented by `columns`.
std::string profile_lines(const NewProfile& profile, std::size_t columns);

enum class Existing { refuse, replace };

/// The text with the profile in it. `conflict` when a profile of that name is there and may not be
/// replaced, or when the file is written in a way that cannot be changed by lines (the error then
/// says what to add by hand). What comes out has been read again: it says the same as before, and
/// the new profile.
Result<std::string> with_profile(std::string_view text, const std::string& file,
                                 const NewProfile& profile, Existing existing);

}  // namespace muster::spec
