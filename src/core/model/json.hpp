/// JSON conversions shared by codecs: byte-exact strings and checked reads. Include in .cpp files
/// only.
#pragma once
#include <boost/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace muster {

namespace json = boost::json;

/// Parses one document, with a depth limit; the error names the byte where it broke.
Result<json::value> parse_json(std::string_view text);
/// A string when the bytes are UTF-8, else {"b64":"..."}.
json::value bytes_to_json(std::string_view bytes);
Result<std::string> bytes_from_json(const json::value& value);
/// A field's value, or nothing when absent or null.
const json::value* field(const json::object& object, std::string_view name);

}  // namespace muster
