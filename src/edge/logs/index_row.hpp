/// A row of a rank's index, as it lies on the disk (docs/reference/home.md). Little-endian, as
/// every machine we run on.
#pragma once
#include <cstdint>

namespace muster::logs {

struct [[gnu::packed]] IndexRow {
  std::uint64_t offset;
  std::uint32_t length;
  std::uint8_t stream;  // 0 stdout, 1 stderr
  std::uint8_t zero[3];
  std::uint64_t wall_us;
};
static_assert(sizeof(IndexRow) == 24);

}  // namespace muster::logs
