#include "base/hash.hpp"

#include <fmt/core.h>
#include <openssl/evp.h>
#include <sys/random.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/check.hpp"
#include "base/rng.hpp"
#include "base/text.hpp"

namespace muster {

std::string sha256_hex(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  const int ok = EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr);
  MUSTER_CHECK(ok == 1, "SHA-256 is not available");
  return to_hex({reinterpret_cast<const char*>(digest), size});
}

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t at = 0; at < count;) {
    const auto got = ::getrandom(bytes.data() + at, count - at, 0);
    MUSTER_CHECK(got > 0 || errno == EINTR, "the kernel gives no randomness");
    if (got > 0) at += static_cast<std::size_t>(got);
  }
  return bytes;
}

struct Xxh3::State {
  XXH3_state_t state;
};

Xxh3::Xxh3() : state_(std::make_unique<State>()) { XXH3_64bits_reset(&state_->state); }
Xxh3::~Xxh3() = default;
Xxh3::Xxh3(Xxh3&&) noexcept = default;
Xxh3& Xxh3::operator=(Xxh3&&) noexcept = default;
void Xxh3::feed(std::string_view bytes) {
  XXH3_64bits_update(&state_->state, bytes.data(), bytes.size());
}
std::string Xxh3::hex() const { return fmt::format("{:016x}", XXH3_64bits_digest(&state_->state)); }

std::uint32_t permute32(std::uint32_t value, std::uint64_t key) {
  // A Feistel network over two 16-bit halves is a permutation whatever its round function is.
  auto left = static_cast<std::uint16_t>(value >> 16);
  auto right = static_cast<std::uint16_t>(value & 0xFFFF);
  for (std::uint64_t round = 0; round < 6; ++round) {
    Rng mix(key ^ (round << 32) ^ (static_cast<std::uint64_t>(right) << 1));
    const auto next = static_cast<std::uint16_t>(left ^ (mix.next() & 0xFFFF));
    left = right;
    right = next;
  }
  return (static_cast<std::uint32_t>(left) << 16) | right;
}

}  // namespace muster
