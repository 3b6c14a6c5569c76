/// The program's own log: one event a line, lower case, with fields. info = a person may care,
/// debug = a developer may care, error = someone must act.
#pragma once
#include <fmt/core.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace muster {

struct Field {
  std::string_view name;
  std::string value;
  template <class T>
  Field(std::string_view field_name, const T& field_value)
      : name(field_name), value(fmt::format("{}", field_value)) {}
};

enum class Level { debug, info, warn, error };
std::string_view name_of(Level level);

class Log {
 public:
  virtual ~Log() = default;
  /// `line` is complete but for time and level. Called from any thread.
  virtual void write(Level level, const std::string& line) = 0;

  void debug(std::string_view what, std::initializer_list<Field> fields = {}) {
    event(Level::debug, what, fields);
  }
  void info(std::string_view what, std::initializer_list<Field> fields = {}) {
    event(Level::info, what, fields);
  }
  void warn(std::string_view what, std::initializer_list<Field> fields = {}) {
    event(Level::warn, what, fields);
  }
  void error(std::string_view what, std::initializer_list<Field> fields = {}) {
    event(Level::error, what, fields);
  }

 private:
  void event(Level level, std::string_view what, std::initializer_list<Field> fields);
};

/// Drops everything.
class NoLog final : public Log {
 public:
  void write(Level, const std::string&) override {}
};

}  // namespace muster
