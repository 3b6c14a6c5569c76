#include <charconv>
#include <limits>

#include "core/spec/yaml.hpp"

// YAML 1.2, core schema (chapter 10.3.2): these and no others are null, booleans and numbers.
namespace muster::spec {
namespace {

bool is_plain(const YamlNode& node) { return node.kind == YamlKind::scalar && !node.is_quoted; }

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

std::optional<std::int64_t> whole(std::string_view digits, int base) {
  std::int64_t number = 0;
  const auto* end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, number, base);
  if (digits.empty() || error != std::errc() || at != end) return std::nullopt;
  return number;
}

}  // namespace

bool is_null(const YamlNode& node) {
  return is_plain(node) && is_one_of(node.text, {"", "~", "null", "Null", "NULL"});
}

std::optional<bool> as_bool(const YamlNode& node) {
  if (!is_plain(node)) return std::nullopt;
  if (is_one_of(node.text, {"true", "True", "TRUE"})) return true;
  if (is_one_of(node.text, {"false", "False", "FALSE"})) return false;
  return std::nullopt;
}

std::optional<std::int64_t> as_int(const YamlNode& node) {
  if (!is_plain(node)) return std::nullopt;
  std::string_view text = node.text;
  const auto has_sign_after_prefix = [&] {
    return text.size() > 2 && (text[2] == '-' || text[2] == '+');
  };
  if (text.starts_with("0x") && !has_sign_after_prefix()) return whole(text.substr(2), 16);
  if (text.starts_with("0o") && !has_sign_after_prefix()) return whole(text.substr(2), 8);
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  return whole(text, 10);
}

std::optional<double> as_float(const YamlNode& node) {
  if (!is_plain(node)) return std::nullopt;
  std::string_view text = node.text;
  if (is_one_of(text, {".nan", ".NaN", ".NAN"})) return std::numeric_limits<double>::quiet_NaN();
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const double sign = negative ? -1 : 1;
  if (is_one_of(text, {".inf", ".Inf", ".INF"}))
    return sign * std::numeric_limits<double>::infinity();
  // from_chars would also take "inf", "nan" and another sign; the schema does not.
  if (text.empty() || text.find_first_not_of("0123456789.eE+-") != std::string_view::npos)
    return std::nullopt;
  if (text.front() == '-' || text.front() == '+') return std::nullopt;
  double number = 0;
  const auto* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || at != end) return std::nullopt;
  return sign * number;
}

}  // namespace muster::spec
