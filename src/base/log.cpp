#include "base/log.hpp"

#include "base/text.hpp"

namespace muster {
namespace {

/// Plain when it can be, else quoted, so that a line splits on spaces.
std::string field_text(const std::string& value) {
  const bool plain = !value.empty() && value.find_first_of(" \"=\\") == std::string::npos &&
                     printable(value) == value;
  if (plain) return value;
  std::string out = "\"";
  for (const char c : printable(value)) {
    if (c == '"') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace

std::string_view name_of(Level level) {
  switch (level) {
    case Level::debug: return "debug";
    case Level::info: return "info";
    case Level::warn: return "warn";
    case Level::error: return "error";
  }
  return "?";
}

void Log::event(Level level, std::string_view what, std::initializer_list<Field> fields) {
  std::string line(what);
  for (const auto& field : fields)
    line += fmt::format(" {}={}", field.name, field_text(field.value));
  write(level, line);
}

}  // namespace muster
