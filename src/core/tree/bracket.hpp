/// The set of bytes a bracket expression of a glob stands for. Pure.
#pragma once
#include <optional>
#include <string_view>

#include "core/tree/glob.hpp"

namespace muster::tree {

/// Reads "[...]" at `at`, which points at the '[', and leaves `at` behind the ']'. Nothing when the
/// bracket is not closed or names an unknown class: such a glob matches nothing.
std::optional<ByteSet> read_bracket(std::string_view glob, std::size_t& at);

}  // namespace muster::tree
