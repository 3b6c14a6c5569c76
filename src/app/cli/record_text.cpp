#include "app/cli/output.hpp"
#include "core/model/json.hpp"
#include "core/render/yaml.hpp"

// Records as text, safe on a terminal.
namespace muster {
namespace {

using Text = std::string_view;

Text view(json::string_view text) { return {text.data(), text.size()}; }

std::string scalar_json(const json::value& value) {
  if (value.is_string()) return render::quoted(view(value.get_string()));
  return json::serialize(value);
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
      text += render::quoted(view(key));
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

}  // namespace

Result<std::string> json_text(std::string_view json, JsonStyle style) {
  TRY(const auto value, parse_json(json));
  JsonWriter writer(style);
  writer.write(value);
  return std::move(writer.text);
}

Result<std::string> yaml_text(std::string_view json) { return render::to_yaml(json); }

}  // namespace muster
