#include "app/cli/output.hpp"

#include "base/text.hpp"

namespace muster {
namespace {

std::string painted(bool has_color, Style style, std::string_view text) {
  if (!has_color || style == Style::plain) return std::string(text);
  const char* code = style == Style::bold    ? "1"
                     : style == Style::dim   ? "2"
                     : style == Style::red   ? "31"
                     : style == Style::green ? "32"
                                             : "33";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::size_t err_width(const Context& context) { return context.err_is_tty ? context.width : 0; }

}  // namespace

std::string paint(const Context& context, Style style, std::string_view text) {
  return painted(context.color, style, text);
}

std::string paint_err(const Context& context, Style style, std::string_view text) {
  return painted(context.err_color, style, text);
}

void print_line(Context& context, std::string_view line) {
  context.out->write(fmt::format("{}\n", line));
}

void print_text(Context& context, std::string_view text, Style style) {
  const auto indent = std::min(text.find_first_not_of(' '), text.size());
  print_line(context, paint(context, style, wrapped(text, context.width, indent + 2)));
}

void say(Context& context, std::string_view line) {
  if (!context.globals.quiet) context.err->write(fmt::format("{}\n", line));
}

void warn(Context& context, std::string_view line) {
  constexpr std::string_view kLabel = "muster: warning:";
  const auto text = wrapped(fmt::format("{} {}", kLabel, printable(line)), err_width(context), 2);
  context.err->write(fmt::format("{}{}\n", paint_err(context, Style::yellow, kLabel),
                                 std::string_view(text).substr(kLabel.size())));
}

bool wants_record(const Context& context) {
  return context.globals.format == Format::json || context.globals.format == Format::yaml;
}

Result<> print_record(Context& context, std::string_view json) {
  if (context.globals.format == Format::yaml) {
    TRY(const auto text, yaml_text(json));
    context.out->write(text);
    return {};
  }
  TRY(const auto text,
      json_text(json, context.out_is_tty ? JsonStyle::pretty : JsonStyle::compact));
  context.out->write(text + "\n");
  return {};
}

void print_table(Context& context, const Table& table, TableStyle style) {
  style.width = context.width;
  style.tab_separated = !context.out_is_tty;
  context.out->write(to_text(table, style));
}

int print_error(Context& context, const Error& error) {
  const auto width = err_width(context);
  const auto room = [&](std::size_t taken) { return width > taken ? width - taken : 0; };
  std::string text =
      fmt::format("{} {}\n", paint_err(context, Style::red, "muster:"),
                  paint_err(context, Style::bold, wrapped(printable(error.what), room(8), 2)));
  const auto add = [&](std::string_view label, std::string_view line) {
    text += fmt::format("  {}{}\n", paint_err(context, Style::dim, label),
                        wrapped(printable(line), room(9), 9));
  };
  if (!error.where.empty()) add("where: ", error.where);
  if (!error.why.empty()) add("why:   ", error.why);
  for (const auto& fix : error.fix) add("fix:   ", fix);
  context.err->write(text);
  return row_of(error.kind).exit_code;
}

}  // namespace muster
