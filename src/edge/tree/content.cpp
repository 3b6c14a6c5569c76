#include "edge/tree/content.hpp"

#include <algorithm>
#include <string>

#include "base/text.hpp"

namespace muster::snapshot {

Result<> read_content(Chunks& chunks, const tree::Entry& file,
                      const std::function<Result<>(std::string_view)>& each) {
  constexpr std::uint64_t kZeros = 1U << 20;
  std::string zeros;
  for (const auto& piece : file.pieces) {
    if (!piece.is_hole) {
      TRY(const auto bytes, within(chunks.get(piece.hash), printable(file.path)));
      TRY_VOID(each(bytes));
      continue;
    }
    for (std::uint64_t left = piece.size; left > 0;) {
      const auto some = std::min(left, kZeros);
      zeros.resize(some);
      TRY_VOID(each(zeros));
      left -= some;
    }
  }
  return {};
}

}  // namespace muster::snapshot
