#include "edge/kube/log_lines.hpp"

#include <algorithm>

#include "edge/kube/rfc3339.hpp"

namespace muster::kube {

bool LogLines::give(bool has_newline, const OnLine& on_line) {
  std::string_view text = line_;
  if (!is_piece_) {
    const auto space = std::min(text.find(' '), text.size());
    time_ = nanoseconds_of(text.substr(0, space)) ? text.substr(0, space) : std::string_view();
    if (!time_.empty()) text.remove_prefix(std::min(space + 1, text.size()));
  }
  const bool wants_more = on_line({.time = time_, .text = text, .has_newline = has_newline});
  is_piece_ = !has_newline;
  line_.clear();
  return wants_more;
}

bool LogLines::feed(std::string_view bytes, const OnLine& on_line) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const auto room = longest_ - line_.size();
    if (end != std::string_view::npos && end <= room) {
      line_ += bytes.substr(0, end);
      bytes.remove_prefix(end + 1);
      if (!give(true, on_line)) return false;
      continue;
    }
    const auto taken = std::min(room, bytes.size());
    line_ += bytes.substr(0, taken);
    bytes.remove_prefix(taken);
    // Full, and more to come: what is there is given as a piece.
    if (!bytes.empty() && !give(false, on_line)) return false;
  }
  return true;
}

bool LogLines::finish(const OnLine& on_line) { return line_.empty() || give(false, on_line); }

}  // namespace muster::kube
