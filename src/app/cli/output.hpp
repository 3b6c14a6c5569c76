/// How answers and errors are printed. stdout is the answer, stderr the conversation; what came
/// from elsewhere never reaches a terminal unescaped. One thread.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/context.hpp"
#include "base/error.hpp"
#include "base/table.hpp"

namespace muster {

enum class Style { plain, bold, dim, red, green, yellow };

/// The text in a style for stdout (`out`) or stderr; unchanged where there is no colour.
std::string paint(const Context& context, Style style, std::string_view text);
std::string paint_err(const Context& context, Style style, std::string_view text);

/// A line of the answer; a line of the conversation (unless --quiet); a warning.
void print_line(Context& context, std::string_view line);
/// A line of the answer that may be long: folded between words to the terminal's width.
void print_text(Context& context, std::string_view text, Style style = Style::plain);
void say(Context& context, std::string_view line);
void warn(Context& context, std::string_view line);

/// One record, as -o says: JSON (pretty on a terminal, one line elsewhere) or YAML.
Result<> print_record(Context& context, std::string_view json);
/// True when the answer is to be a record.
bool wants_record(const Context& context);
/// Aligned on a terminal, tab-separated elsewhere.
void print_table(Context& context, const Table& table, TableStyle style = {});

/// Prints the error and returns the exit code of its kind.
int print_error(Context& context, const Error& error);

/// A JSON document written anew: indented or on one line, every unsafe character escaped.
enum class JsonStyle { compact, pretty };
Result<std::string> json_text(std::string_view json, JsonStyle style);
/// The same document as YAML.
Result<std::string> yaml_text(std::string_view json);

}  // namespace muster
