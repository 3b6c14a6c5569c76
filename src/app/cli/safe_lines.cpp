#include "app/cli/safe_lines.hpp"

#include "app/cli/output.hpp"
#include "base/text.hpp"

namespace muster {
namespace {

std::string expanded(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  // A progress bar rewrites its line: the last version is the one to show.
  if (const auto back = line.rfind('\r'); back != std::string_view::npos)
    line.remove_prefix(back + 1);
  std::string text;
  bool is_first = true;
  for (const auto part : split(line, '\t')) {
    text += (is_first ? "" : "\t") + printable(part);
    is_first = false;
  }
  return text;
}

}  // namespace

void SafeLines::feed(std::string_view bytes) {
  rest_ += bytes;
  std::size_t at = 0;
  for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', at)) {
    print_line(context_, expanded(std::string_view(rest_).substr(at, end - at)));
    at = end + 1;
  }
  rest_.erase(0, at);
}

void SafeLines::finish() {
  if (!rest_.empty()) print_line(context_, expanded(rest_));
  rest_.clear();
}

}  // namespace muster
