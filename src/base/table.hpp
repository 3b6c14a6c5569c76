/// A text table that fits a width: columns are aligned, the flexible one is clipped, columns equal
/// in all rows may be folded into a heading line.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace muster {

struct Column {
  std::string title;
  bool is_number = false;    // aligned right
  bool is_flexible = false;  // takes what is left of the width, clipped
  bool may_fold = false;     // printed once above when equal in all rows
};

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

struct TableStyle {
  std::size_t width = 0;       // 0: no limit
  bool tab_separated = false;  // for pipes: no padding, no clipping, no folding
};

std::string render(const Table& table, const TableStyle& style);

}  // namespace muster
