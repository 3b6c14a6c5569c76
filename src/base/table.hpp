/// A text table that fits a width: columns are aligned, the flexible one is clipped, columns equal
/// in all rows may be folded into a heading line.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

struct Column {
  std::string title;
  bool is_number = false;    // aligned right
  bool is_flexible = false;  // takes what is left of the width, clipped
  bool may_fold = false;     // printed once above when equal in all rows
  std::string usual;         // with may_fold: when all rows have this, not even that
};

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

struct TableStyle {
  std::size_t width = 0;       // 0: no limit
  bool tab_separated = false;  // for pipes: no padding, no clipping, no folding
  /// The cell as shown, painted by what it says; nothing: as it is.
  std::function<std::string(std::size_t column, const std::string& cell)> paint;
};

std::string to_text(const Table& table, const TableStyle& style);

}  // namespace muster
