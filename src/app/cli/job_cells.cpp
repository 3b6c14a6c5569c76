#include "app/cli/job_cells.hpp"

#include <ctime>

#include "base/text.hpp"

namespace muster {

std::string shown_at(const json::object& object, std::string_view name) {
  const auto* value = field(object, name);
  if (value == nullptr) return {};
  return printable(bytes_from_json(*value).value_or(std::string()));
}

std::optional<WallTime> time_at(const json::object& object, std::string_view name) {
  const auto text = text_at(object, name);
  if (text.empty()) return std::nullopt;
  const auto at = parse_rfc3339(text);
  return at ? std::optional(*at) : std::nullopt;
}

std::string local_time_at(const json::object& object, std::string_view name) {
  const auto at = time_at(object, name);
  if (!at) return {};
  const std::time_t seconds = at->us / 1'000'000;
  std::tm parts{};
  char text[64];
  if (::localtime_r(&seconds, &parts) == nullptr) return shown_at(object, name);
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %Z", &parts));
}

std::string command_of(const json::object& job) {
  std::vector<std::string> argv;
  for (const auto& word : list_at(job, "command"))
    argv.push_back(bytes_from_json(word).value_or("?"));
  if (flag_at(job, "shell") && argv.size() == 3) return printable(argv[2]);
  return printable(shell_quoted(argv));
}

std::string end_text(const json::object& end) {
  auto text = shown_at(end, "cause");
  if (const auto signal = number_at(end, "signal"); signal != 0)
    text += fmt::format(" (signal {})", signal);
  else if (const auto code = number_at(end, "exit_code"); code != 0)
    text += fmt::format(" (exit {})", code);
  return text;
}

std::string end_after_state(const json::object& job) {
  const auto cause = text_at(job, "cause");
  if (cause == "success") return {};
  if (cause != "cancelled") return end_text(job);
  const auto by = shown_at(job, "cancelled_by");
  return by.empty() ? "" : "by " + by;
}

Style style_of_state(std::string_view state) {
  if (state == "succeeded") return Style::green;
  if (state == "failed") return Style::red;
  if (state == "queued" || state == "cancelled") return Style::dim;
  return Style::yellow;
}

}  // namespace muster
