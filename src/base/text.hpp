/// Small text tools. Bytes are bytes: nothing here assumes UTF-8 unless its name says so.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace muster {

bool is_utf8(std::string_view bytes);
/// Safe on a terminal: C0, C1, escape, bidi and invalid bytes become visible escapes (\x1b,
/// \u202e). Newlines and tabs are escaped as well; the result is one line.
std::string printable(std::string_view bytes);
/// An argv as one line that a POSIX shell would read back to the same bytes.
std::string shell_quoted(std::span<const std::string> argv);
std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trimmed(std::string_view text);
std::string join(std::span<const std::string> parts, std::string_view separator);
/// At most `width` columns of UTF-8 text (one column a code point), with "…" where it was cut.
std::string clipped(std::string_view text, std::size_t width);
/// Broken at spaces into lines of at most `width` columns, all but the first begun with `hang`
/// spaces. A word that is too long stays whole. Width 0: as it is.
std::string wrapped(std::string_view text, std::size_t width, std::size_t hang);
/// Code points of UTF-8 text; what a terminal column count is taken to be.
std::size_t columns_of(std::string_view text);

std::string to_base64(std::string_view bytes);
Result<std::string> from_base64(std::string_view text);
std::string to_hex(std::string_view bytes);
std::optional<std::string> from_hex(std::string_view text);

/// Damerau-Levenshtein distance (adjacent swaps count one).
std::size_t edit_distance(std::string_view a, std::string_view b);
/// The candidate nearest to `word`, if it is near enough to be what was meant.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace muster
