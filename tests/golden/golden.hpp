/// Files that fix what the outside relies on. A text and its file change together: the test says so
/// until it is run with MUSTER_ACCEPT=1, which rewrites the file for review.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace muster::golden {

/// A file of the source tree; a missing one fails the test.
std::string source_text(const std::string& path);
/// Compares with tests/golden/NAME.
void expect_golden(const std::string& name, const std::string& text);
/// The same JSON over many lines, so that a difference can be read.
std::string unfolded(std::string_view json);

using Row = std::vector<std::string>;
/// The first table under a heading of docs/reference/PAGE, without its head. `\|` is a bar.
std::vector<Row> reference_table(const std::string& page, const std::string& heading);
/// The names in quotes ("id", "state") of the first code that begins with `{` or with `opening`
/// under a heading of docs/reference/PAGE.
std::vector<std::string> reference_names(const std::string& page, const std::string& opening);
/// Every name of every object in a JSON text, as often as it comes, in order.
std::vector<std::string> names_in(std::string_view json);
std::vector<std::string> sorted_unique(std::vector<std::string> names);

}  // namespace muster::golden
