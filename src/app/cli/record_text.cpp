#include "app/cli/output.hpp"
#include "base/text.hpp"
#include "core/model/json.hpp"
#include "core/spec/yaml.hpp"

// Records as text. Strings are escaped further than JSON asks for: control characters above 0x7f
// and those that turn the direction of text must not act on a terminal.
namespace muster {
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

/// A string in double quotes that is right in JSON and in YAML. No unsafe character lies above the
/// basic plane, so \uXXXX is enough.
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
    else if (printable(sequence) == sequence)
      out += sequence;
    else
      out += fmt::format("\\u{:04x}", point_of(sequence));
  }
  return out + "\"";
}

Text view(json::string_view text) { return {text.data(), text.size()}; }

std::string scalar_json(const json::value& value) {
  if (value.is_string()) return quoted(view(value.get_string()));
  return json::serialize(value);
}

bool is_container(const json::value& value) {
  return (value.is_array() && !value.get_array().empty()) ||
         (value.is_object() && !value.get_object().empty());
}

class JsonWriter {
 public:
  explicit JsonWriter(JsonStyle style) : style_(style) {}

  void write(const json::value& value) {
    if (value.is_array())
      write_array(value.get_array());
    else if (value.is_object())
      write_object(value.get_object());
    else
      text += scalar_json(value);
  }

  std::string text;

 private:
  void write_array(const json::array& array) {
    text += '[';
    open();
    for (std::size_t i = 0; i < array.size(); ++i) {
      separate(i);
      write(array[i]);
    }
    close(array.empty());
    text += ']';
  }

  void write_object(const json::object& object) {
    text += '{';
    open();
    std::size_t i = 0;
    for (const auto& [key, value] : object) {
      separate(i++);
      text += quoted(view(key));
      text += style_ == JsonStyle::pretty ? ": " : ":";
      write(value);
    }
    close(object.empty());
    text += '}';
  }

  void open() { ++depth_; }
  void close(bool is_empty) {
    --depth_;
    if (!is_empty) new_line();
  }
  void separate(std::size_t i) {
    if (i != 0) text += ',';
    new_line();
  }
  void new_line() {
    if (style_ == JsonStyle::pretty) text += '\n' + std::string(depth_ * 2, ' ');
  }

  JsonStyle style_;
  std::size_t depth_ = 0;
};

/// Plain where YAML reads the same string back, quoted otherwise.
std::string yaml_string(Text text) {
  constexpr Text kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+@-";
  spec::YamlNode node;
  node.text = text;
  const bool is_word = !text.empty() && text.find_first_not_of(kPlain) == Text::npos &&
                       text.front() != '-' && text.front() != '@' && text.front() != '.';
  // YAML 1.1 readers take these for booleans; quoting costs nothing.
  static const std::vector<std::string> kOld{"yes", "no", "on", "off"};
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const bool is_old = std::find(kOld.begin(), kOld.end(), lower) != kOld.end();
  const bool means_other =
      spec::is_null(node) || spec::as_bool(node) || spec::as_int(node) || spec::as_float(node);
  // Digits first may be a number, a date or base 60 elsewhere.
  const bool digit_first = !text.empty() && text.front() >= '0' && text.front() <= '9';
  return is_word && !is_old && !means_other && !digit_first ? std::string(text) : quoted(text);
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

Result<std::string> json_text(std::string_view json, JsonStyle style) {
  TRY(const auto value, parse_json(json));
  JsonWriter writer(style);
  writer.write(value);
  return std::move(writer.text);
}

Result<std::string> yaml_text(std::string_view json) {
  TRY(const auto value, parse_json(json));
  std::string out;
  if (is_container(value))
    write_yaml(out, value, 0);
  else
    out = yaml_scalar(value) + "\n";
  return out;
}

}  // namespace muster
