#include "core/render/yaml.hpp"

#include "base/text.hpp"
#include "core/model/json.hpp"

namespace muster::render {
namespace {

using Text = std::string_view;

std::size_t length_at(Text text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  return std::min(length, text.size() - at);
}

/// The code point of one valid UTF-8 sequence.
std::uint32_t point_of(Text sequence) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(sequence[i]));
  };
  switch (sequence.size()) {
    case 1: return byte(0);
    case 2: return ((byte(0) & 0x1F) << 6) | (byte(1) & 0x3F);
    case 3: return ((byte(0) & 0x0F) << 12) | ((byte(1) & 0x3F) << 6) | (byte(2) & 0x3F);
    default:
      return ((byte(0) & 0x07) << 18) | ((byte(1) & 0x3F) << 12) | ((byte(2) & 0x3F) << 6) |
             (byte(3) & 0x3F);
  }
}

/// Line breaks and marks that YAML 1.1 sees where JSON sees letters.
bool is_break(std::uint32_t point) {
  return point == 0x85 || point == 0x2028 || point == 0x2029 || point == 0xFEFF;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// YAML 1.1, which Kubernetes reads, takes these words for booleans and nothing, in any case.
bool is_word_of_yaml(Text text) {
  constexpr Text kWords[] = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"};
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return std::find(std::begin(kWords), std::end(kWords), lower) != std::end(kWords);
}

/// Plain only where every reader of YAML, old or new, must see this very string: a letter first, so
/// that it is no number, date or sign, and nothing that has a meaning of its own.
std::string yaml_string(Text text) {
  constexpr Text kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+@-";
  const bool begins_well = !text.empty() && (is_letter(text.front()) || text.front() == '/');
  const bool is_plain = begins_well && text.find_first_not_of(kPlain) == Text::npos;
  return is_plain && !is_word_of_yaml(text) ? std::string(text) : quoted(text);
}

Text view(json::string_view text) { return {text.data(), text.size()}; }

bool is_container(const json::value& value) {
  return (value.is_array() && !value.get_array().empty()) ||
         (value.is_object() && !value.get_object().empty());
}

std::string yaml_scalar(const json::value& value) {
  if (value.is_string()) return yaml_string(view(value.get_string()));
  if (value.is_array()) return "[]";
  if (value.is_object()) return "{}";
  return json::serialize(value);
}

/// Writes a container whose first line continues the current one, at `indent`.
void write_yaml(std::string& out, const json::value& value, std::size_t indent) {
  bool is_first = true;
  const auto begin_line = [&] {
    if (!is_first) out += std::string(indent, ' ');
    is_first = false;
  };
  if (value.is_array()) {
    for (const auto& item : value.get_array()) {
      begin_line();
      out += "- ";
      if (is_container(item))
        write_yaml(out, item, indent + 2);
      else
        out += yaml_scalar(item) + "\n";
    }
    return;
  }
  for (const auto& [key, item] : value.get_object()) {
    begin_line();
    out += yaml_string(view(key)) + ":";
    if (is_container(item)) {
      out += "\n" + std::string(indent + 2, ' ');
      write_yaml(out, item, indent + 2);
    } else {
      out += " " + yaml_scalar(item) + "\n";
    }
  }
}

}  // namespace

std::string quoted(Text text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const Text sequence = text.substr(at, length_at(text, at));
    at += sequence.size();
    if (sequence == "\"")
      out += "\\\"";
    else if (sequence == "\\")
      out += "\\\\";
    else if (sequence == "\n")
      out += "\\n";
    else if (sequence == "\t")
      out += "\\t";
    else if (printable(sequence) == sequence && !is_break(point_of(sequence)))
      out += sequence;
    else
      out += fmt::format("\\u{:04x}", point_of(sequence));
  }
  return out + "\"";
}

Result<std::string> to_yaml(std::string_view json) {
  TRY(const auto value, parse_json(json));
  std::string out;
  if (is_container(value))
    write_yaml(out, value, 0);
  else
    out = yaml_scalar(value) + "\n";
  return out;
}

}  // namespace muster::render
