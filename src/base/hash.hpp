/// Hashes: SHA-256 for identity, XXH3-64 for integrity of what we wrote ourselves.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace muster {

std::array<std::uint8_t, 32> sha256(std::string_view bytes);
/// Lower-case hex of SHA-256.
std::string sha256_hex(std::string_view bytes);
/// Cryptographic randomness, for keys and tokens.
std::string random_bytes(std::size_t count);

/// XXH3-64 at once.
std::uint64_t xxh3(std::string_view bytes);
/// XXH3-64 fed piece by piece.
class Xxh3 {
 public:
  Xxh3();
  ~Xxh3();
  Xxh3(Xxh3&&) noexcept;
  Xxh3& operator=(Xxh3&&) noexcept;
  void feed(std::string_view bytes);
  /// 16 lower-case hex digits.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A keyed permutation of 32-bit numbers: distinct in, distinct out, no visible order.
std::uint32_t permute32(std::uint32_t value, std::uint64_t key);

}  // namespace muster
