/// Seeded randomness (splitmix64). All randomness in the program flows from one of these.
#pragma once
#include <cstdint>

namespace muster {

class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  /// Uniform enough in [0, n); 0 when n is 0.
  std::uint64_t below(std::uint64_t n) { return n == 0 ? 0 : next() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  /// An independent stream, so that a new consumer does not shift the old ones.
  Rng split() { return Rng(next()); }

 private:
  std::uint64_t state_;
};

}  // namespace muster
