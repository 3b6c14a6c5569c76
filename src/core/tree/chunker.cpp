#include "core/tree/chunker.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace muster::tree {
namespace {

/// One number for each byte. It decides where files are cut, so it never changes: another table
/// would send every large file again.
constexpr std::array<std::uint64_t, 256> make_gear() {
  std::array<std::uint64_t, 256> gear{};
  std::uint64_t state = 0x6D75'7374'6572'0001;  // "muster", 1
  for (auto& number : gear) {
    for (int round = 0; round < 4; ++round) {
      state ^= state >> 29;
      state *= 0xD6E8'FEB8'6659'FD93;
      state ^= state >> 32;
      state += 0xA076'1D64'78BD'642F;
    }
    number = state;
  }
  return gear;
}
constexpr auto kGear = make_gear();

/// A number falls out of the rolling sum after 64 shifts, so whether a place is a cut depends on
/// the 64 bytes before it and on nothing else.
constexpr std::size_t kWindow = 64;

/// A place is a cut when the sum is below a limit: one place in 2 MiB up to the usual size, one in
/// 512 KiB beyond it. Two limits keep chunks near the usual size. Limits further apart keep them
/// nearer, but then cuts are found again later behind a large insertion.
constexpr std::uint64_t kRarely = std::uint64_t{1} << (64 - 21);
constexpr std::uint64_t kOften = std::uint64_t{1} << (64 - 19);

struct Scan {
  const unsigned char* bytes;
  std::size_t at;
  std::uint64_t sum = 0;

  void step() { sum = (sum << 1) + kGear[bytes[at++]]; }

  /// True when it stands at a cut, false at `end`.
  bool reaches_cut(std::size_t end, std::uint64_t limit) {
    // One branch a byte is predicted; the loop around it is what unrolling saves.
    while (at + 8 <= end) {
      for (int i = 0; i < 8; ++i) {
        step();
        if (sum < limit) return true;
      }
    }
    while (at < end) {
      step();
      if (sum < limit) return true;
    }
    return false;
  }
};

}  // namespace

std::size_t first_cut(std::string_view bytes) {
  const auto end = std::min(bytes.size(), kMostChunk);
  if (end <= kLeastChunk) return end;
  Scan scan{reinterpret_cast<const unsigned char*>(bytes.data()), kLeastChunk - kWindow};
  while (scan.at < kLeastChunk) scan.step();
  if (scan.reaches_cut(std::min(end, kUsualChunk), kRarely)) return scan.at;
  if (scan.reaches_cut(end, kOften)) return scan.at;
  return end;
}

}  // namespace muster::tree
