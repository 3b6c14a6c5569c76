#include "golden.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "base/text.hpp"

namespace muster::golden {
namespace {

bool is_accepting() {
  const char* word = std::getenv("MUSTER_ACCEPT");
  return word != nullptr && std::string_view(word) == "1";
}

std::string in_source(const std::string& path) {
  return std::string(MUSTER_SOURCE_DIR) + "/" + path;
}

Row cells_of(std::string_view line) {
  std::string text(line);
  constexpr char kBar = '\x01';  // stands for a bar within a cell
  for (std::size_t at; (at = text.find("\\|")) != text.npos;) text.replace(at, 2, 1, kBar);
  Row cells;
  const auto parts = split(text, '|');
  for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
    std::string cell(trimmed(parts[i]));
    std::replace(cell.begin(), cell.end(), kBar, '|');
    cells.push_back(std::move(cell));
  }
  return cells;
}

/// The strings of a JSON text with the place behind each.
template <class Take>
void each_string(std::string_view json, Take take) {
  for (std::size_t at = 0; at < json.size(); ++at) {
    if (json[at] != '"') continue;
    const auto start = ++at;
    while (at < json.size() && json[at] != '"') at += json[at] == '\\' ? 2 : 1;
    take(json.substr(start, at - start), at + 1);
  }
}

}  // namespace

std::string source_text(const std::string& path) {
  std::ifstream file(in_source(path));
  EXPECT_TRUE(file.good()) << path << " is missing";
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void expect_golden(const std::string& name, const std::string& text) {
  const auto path = "tests/golden/" + name;
  if (is_accepting()) {
    const bool is_new = !std::filesystem::exists(in_source(path));
    if (!is_new && source_text(path) == text) return;
    std::filesystem::create_directories(std::filesystem::path(in_source(path)).parent_path());
    std::ofstream(in_source(path)) << text;
    std::cout << "accepted: " << path << (is_new ? " (new)" : " has changed, review it") << '\n';
    return;
  }
  EXPECT_EQ(source_text(path), text)
      << path << ": if this change is meant, run with MUSTER_ACCEPT=1 and look at the difference";
}

std::string unfolded(std::string_view json) {
  std::string out;
  std::size_t depth = 0;
  const auto new_line = [&] { out += '\n' + std::string(2 * depth, ' '); };
  for (std::size_t at = 0; at < json.size(); ++at) {
    const char c = json[at];
    if (c == '"') {
      const auto start = at++;
      while (at < json.size() && json[at] != '"') at += json[at] == '\\' ? 2 : 1;
      out += json.substr(start, at + 1 - start);
    } else if ((c == '{' || c == '[') && at + 1 < json.size() && json[at + 1] == c + 2) {
      out += json.substr(at++, 2);  // empty: "{" + 2 is "}", as "[" + 2 is "]"
    } else if (c == '{' || c == '[') {
      out += c;
      ++depth;
      new_line();
    } else if (c == '}' || c == ']') {
      --depth;
      new_line();
      out += c;
    } else if (c == ',') {
      out += c;
      new_line();
    } else if (c != '\n') {
      out += c == ':' ? ": " : std::string(1, c);
    }
  }
  return out + '\n';
}

std::vector<Row> reference_table(const std::string& page, const std::string& heading) {
  const auto text = source_text("docs/reference/" + page);
  const auto from = text.find("\n## " + heading + "\n");
  EXPECT_NE(from, text.npos) << page << " has no heading " << heading;
  if (from == text.npos) return {};
  std::vector<Row> rows;
  std::size_t lines = 0;
  for (const auto line : split(std::string_view(text).substr(from + 1), '\n')) {
    if (line.starts_with("## ") && lines++ > 0) break;
    const bool is_row = line.starts_with("|");
    if (!is_row && !rows.empty()) break;
    if (is_row) rows.push_back(cells_of(line));
  }
  EXPECT_GT(rows.size(), 2U) << page << " has no table under " << heading;
  rows.erase(rows.begin(), rows.begin() + std::min<std::ptrdiff_t>(2, std::ssize(rows)));
  return rows;
}

std::vector<std::string> reference_names(const std::string& page, const std::string& opening) {
  const auto text = source_text("docs/reference/" + page);
  const auto from = text.find(opening);
  EXPECT_NE(from, text.npos) << page << " does not show " << opening;
  if (from == text.npos) return {};
  const auto start = text.find("`{", from) + 1;
  const auto code = text.substr(start, text.find('`', start) - start);
  std::vector<std::string> names;
  each_string(code, [&](std::string_view name, std::size_t) { names.emplace_back(name); });
  return names;
}

std::vector<std::string> names_in(std::string_view json) {
  std::vector<std::string> names;
  each_string(json, [&](std::string_view name, std::size_t behind) {
    if (trimmed(json.substr(behind)).starts_with(':')) names.emplace_back(name);
  });
  return names;
}

std::vector<std::string> sorted_unique(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace muster::golden
