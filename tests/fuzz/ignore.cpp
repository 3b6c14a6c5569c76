// Any text as an ignore file, any text as a path: an answer, and soon. A pattern that is the path
// itself, every byte escaped, matches it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/tree/ignore.hpp"

namespace {

using muster::tree::IgnoreList;

/// Neither a path nor a line holds these; an empty part is no name.
bool is_path(std::string_view text) {
  return !text.empty() && text.find('\0') == text.npos && text.find('\n') == text.npos &&
         !text.starts_with('/') && !text.ends_with('/') && text.find("//") == text.npos;
}

std::string escaped(std::string_view path) {
  std::string pattern = "/";
  for (const char c : path) {
    if (c != '/') pattern += '\\';
    pattern += c;
  }
  return pattern;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The last line is the path, all before it the file.
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto cut = text.rfind('\n');
  const auto path = cut == text.npos ? text : text.substr(cut + 1);
  const auto rules = cut == text.npos ? std::string_view() : text.substr(0, cut);
  const auto list = IgnoreList::parse(rules);
  const auto as_folder = list.verdict(path, true);
  // What counts for a file counts for a folder; only more patterns do.
  if (list.verdict(path, false) && !as_folder) std::abort();
  // A CR at the end of a line is not part of its pattern.
  if (!is_path(path) || path.ends_with('\r')) return 0;
  const auto more = std::string(rules) + "\n" + escaped(path) + "\n";
  if (IgnoreList::parse(more).verdict(path, false) != true) std::abort();
  const auto back = more + "!" + escaped(path) + "\n";
  if (IgnoreList::parse(back).verdict(path, false) != false) std::abort();
  return 0;
}
