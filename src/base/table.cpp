#include "base/table.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.hpp"

namespace muster {
namespace {

bool is_folded(const Table& table, std::size_t c) {
  if (!table.columns[c].may_fold || table.rows.empty()) return false;
  if (table.rows.size() < 2 && table.rows.front()[c] != table.columns[c].usual) return false;
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

constexpr std::size_t kGap = 2;
constexpr std::size_t kLeast = 8;

/// Flexible columns share what the others leave: the narrow ones get all they need, the wide ones
/// equal parts of the rest.
void share(std::vector<std::size_t>& widths, std::vector<std::size_t> flexible, std::size_t room) {
  std::sort(flexible.begin(), flexible.end(),
            [&](std::size_t a, std::size_t b) { return widths[a] < widths[b]; });
  for (std::size_t i = 0; i < flexible.size(); ++i) {
    const std::size_t part = std::max(room / (flexible.size() - i), kLeast);
    auto& width = widths[flexible[i]];
    width = std::min(width, part);
    room -= std::min(room, width);
  }
}

std::vector<std::size_t> widths_of(const Table& table, const std::vector<std::size_t>& shown,
                                   std::size_t limit) {
  std::vector<std::size_t> widths, flexible;
  std::size_t fixed = shown.empty() ? 0 : kGap * (shown.size() - 1);
  for (const std::size_t c : shown) {
    std::size_t width = columns_of(table.columns[c].title);
    for (const auto& row : table.rows) width = std::max(width, columns_of(row[c]));
    if (table.columns[c].is_flexible)
      flexible.push_back(widths.size());
    else
      fixed += width;
    widths.push_back(width);
  }
  if (limit != 0) share(widths, flexible, limit > fixed ? limit - fixed : 0);
  return widths;
}

}  // namespace

std::string to_text(const Table& table, const TableStyle& style) {
  if (style.tab_separated) return tab_separated(table);
  std::string out;
  std::vector<std::size_t> shown;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (!is_folded(table, c))
      shown.push_back(c);
    else if (table.rows.front()[c] != table.columns[c].usual)
      out += fmt::format("{}{}: {}", out.empty() ? "" : "  ", table.columns[c].title,
                         table.rows.front()[c]);
  }
  if (!out.empty()) out += '\n';
  const auto widths = widths_of(table, shown, style.width);
  const auto line = [&](auto cell_of, bool is_title) {
    std::string text;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const std::string cell = clipped(cell_of(shown[i]), widths[i]);
      const std::string pad(widths[i] - columns_of(cell), ' ');
      const auto seen = style.paint && !is_title ? style.paint(shown[i], cell) : cell;
      text += table.columns[shown[i]].is_number ? pad + seen : seen + pad;
      text += "  ";
    }
    out += text.substr(0, text.find_last_not_of(' ') + 1) + '\n';
  };
  line([&](std::size_t c) { return table.columns[c].title; }, true);
  for (const auto& row : table.rows) line([&](std::size_t c) { return row[c]; }, false);
  return out;
}

}  // namespace muster
