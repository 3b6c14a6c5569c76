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

/// Fields read leniently: empty, 0 or false when absent or of another type.
std::string_view text_at(const json::object& object, std::string_view name);
std::int64_t number_at(const json::object& object, std::string_view name);
double real_at(const json::object& object, std::string_view name);
bool flag_at(const json::object& object, std::string_view name);
const json::array& list_at(const json::object& object, std::string_view name);
/// An integer where the number is whole: 2, not 2E0.
json::value real_to_json(double number);

}  // namespace muster
