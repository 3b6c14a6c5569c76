#include "core/model/json.hpp"

#include <cmath>

#include "base/text.hpp"

namespace muster {

Result<json::value> parse_json(std::string_view text) {
  json::error_code error;
  json::parse_options options;
  options.max_depth = 64;
  json::stream_parser parser({}, options);
  const std::size_t used = parser.write_some({text.data(), text.size()}, error);
  if (!error && used < text.size() && !trimmed(text.substr(used)).empty())
    error = json::error::extra_data;
  if (!error) parser.finish(error);
  if (error) {
    auto failed = fail(Kind::usage, fmt::format("not JSON: {} at byte {}", error.message(), used));
    return failed;
  }
  return parser.release();
}

json::value bytes_to_json(std::string_view bytes) {
  if (is_utf8(bytes)) return json::value(json::string_view(bytes.data(), bytes.size()));
  json::object wrapped;
  wrapped["b64"] = to_base64(bytes);
  return wrapped;
}

Result<std::string> bytes_from_json(const json::value& value) {
  if (value.is_string()) return std::string(value.get_string());
  if (value.is_object())
    if (const auto* b64 = field(value.get_object(), "b64"); b64 != nullptr && b64->is_string())
      return from_base64(std::string_view(b64->get_string()));
  return fail(Kind::usage, "expected a string, or {\"b64\":\"...\"} for bytes that are not UTF-8");
}

const json::value* field(const json::object& object, std::string_view name) {
  const auto* value = object.if_contains(json::string_view(name.data(), name.size()));
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::string_view text_at(const json::object& object, std::string_view name) {
  const auto* value = field(object, name);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string())
                                                : std::string_view();
}

std::int64_t number_at(const json::object& object, std::string_view name) {
  const auto* value = field(object, name);
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

double real_at(const json::object& object, std::string_view name) {
  const auto* value = field(object, name);
  if (value == nullptr) return 0;
  return value->is_double() ? value->get_double() : static_cast<double>(number_at(object, name));
}

bool flag_at(const json::object& object, std::string_view name) {
  const auto* value = field(object, name);
  return value != nullptr && value->is_bool() && value->get_bool();
}

const json::array& list_at(const json::object& object, std::string_view name) {
  static const json::array kEmpty;
  const auto* value = field(object, name);
  return value != nullptr && value->is_array() ? value->get_array() : kEmpty;
}

json::value real_to_json(double number) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (std::abs(number) < kExact && number == std::floor(number))
    return static_cast<std::int64_t>(number);
  return number;
}

}  // namespace muster
