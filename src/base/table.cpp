#include "base/table.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.hpp"

namespace muster {
namespace {

bool is_folded(const Table& table, std::size_t c) {
  if (!table.columns[c].may_fold || table.rows.size() < 2) return false;
  return std::all_of(table.rows.begin(), table.rows.end(),
                     [&](const auto& row) { return row[c] == table.rows.front()[c]; });
}

std::string tab_separated(const Table& table) {
  std::string out;
  const auto line = [&](const auto& cells) {
    for (std::size_t c = 0; c < cells.size(); ++c) out += (c == 0 ? "" : "\t") + cells[c];
    out += '\n';
  };
  std::vector<std::string> titles;
  for (const auto& column : table.columns) titles.push_back(column.title);
  line(titles);
  for (const auto& row : table.rows) line(row);
  return out;
}

std::vector<std::size_t> widths_of(const Table& table, const std::vector<std::size_t>& shown,
                                   std::size_t limit) {
  std::vector<std::size_t> widths;
  std::size_t fixed = 0;
  for (const std::size_t c : shown) {
    std::size_t width = columns_of(table.columns[c].title);
    for (const auto& row : table.rows) width = std::max(width, columns_of(row[c]));
    widths.push_back(width);
    if (!table.columns[c].is_flexible) fixed += width + 2;
  }
  for (std::size_t i = 0; i < shown.size(); ++i)
    if (limit != 0 && table.columns[shown[i]].is_flexible)
      widths[i] = std::min(widths[i], limit > fixed + 8 ? limit - fixed : 8);
  return widths;
}

}  // namespace

std::string render(const Table& table, const TableStyle& style) {
  if (style.tab_separated) return tab_separated(table);
  std::string out;
  std::vector<std::size_t> shown;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (!is_folded(table, c))
      shown.push_back(c);
    else if (!table.rows.front()[c].empty())
      out += fmt::format("{}{}: {}", out.empty() ? "" : "  ", table.columns[c].title,
                         table.rows.front()[c]);
  }
  if (!out.empty()) out += '\n';
  const auto widths = widths_of(table, shown, style.width);
  const auto line = [&](auto cell_of) {
    std::string text;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const std::string cell = clipped(cell_of(shown[i]), widths[i]);
      const std::string pad(widths[i] - columns_of(cell), ' ');
      text += table.columns[shown[i]].is_number ? pad + cell : cell + pad;
      text += "  ";
    }
    out += text.substr(0, text.find_last_not_of(' ') + 1) + '\n';
  };
  line([&](std::size_t c) { return table.columns[c].title; });
  for (const auto& row : table.rows) line([&](std::size_t c) { return row[c]; });
  return out;
}

}  // namespace muster
