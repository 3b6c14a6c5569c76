#include "core/tree/ignore.hpp"

#include <algorithm>

namespace muster::tree {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Without the spaces at its end; one behind a '\' stays.
std::string_view without_last_spaces(std::string_view line) {
  std::size_t end = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == ' ') continue;
    if (line[at] == '\\') ++at;
    end = at + 1;
  }
  return line.substr(0, std::min(end, line.size()));
}

/// What git takes for the pattern of a line: the CR of a CRLF and all from a NUL on are dropped.
std::string_view pattern_text(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return without_last_spaces(line.substr(0, line.find('\0')));
}

std::optional<IgnorePattern> compile(std::string_view line) {
  if (line.starts_with('#')) return std::nullopt;
  auto text = pattern_text(line);
  const bool is_negated = text.starts_with('!');
  if (is_negated) text.remove_prefix(1);
  const bool is_folder = text.ends_with('/');
  if (is_folder) text.remove_suffix(1);
  const bool is_anchored = text.find('/') != std::string_view::npos;
  if (text.starts_with('/')) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  return IgnorePattern{.glob = Glob(text),
                       .is_negated = is_negated,
                       .is_folder = is_folder,
                       .is_anchored = is_anchored};
}

}  // namespace

IgnoreList IgnoreList::parse(std::string_view text) {
  IgnoreList list;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    if (auto pattern = compile(text.substr(0, end))) list.patterns_.push_back(std::move(*pattern));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return list;
}

std::optional<bool> IgnoreList::verdict(std::string_view path, bool is_folder) const {
  const auto name = path.substr(path.rfind('/') + 1);
  for (auto pattern = patterns_.rbegin(); pattern != patterns_.rend(); ++pattern) {
    if (pattern->is_folder && !is_folder) continue;
    if (pattern->glob.matches(pattern->is_anchored ? path : name)) return !pattern->is_negated;
  }
  return std::nullopt;
}

}  // namespace muster::tree
