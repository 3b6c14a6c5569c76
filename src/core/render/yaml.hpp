/// JSON as YAML that people, Kubernetes (YAML 1.1) and our own reader (1.2) read as the same
/// values. Strings are escaped further than JSON asks for: what moves a terminal's cursor, turns
/// the direction of text or ends a line for YAML alone is written as \uXXXX. Pure; any thread.
#pragma once
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace muster::render {

/// Fails when the text is not JSON.
Result<std::string> to_yaml(std::string_view json);

/// A string of UTF-8 in double quotes, right in JSON and in YAML.
std::string quoted(std::string_view text);

}  // namespace muster::render
