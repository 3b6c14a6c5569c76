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

std::array<std::uint8_t, 32> sha256(std::string_view bytes) {
  // Looking the algorithm up and making a context cost more than hashing a small file.
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  thread_local const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(
      EVP_MD_CTX_new(), EVP_MD_CTX_free);
  std::array<std::uint8_t, 32> digest{};
  const bool is_done = algorithm != nullptr && context != nullptr &&
                       EVP_DigestInit_ex(context.get(), algorithm, nullptr) == 1 &&
                       EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1 &&
                       EVP_DigestFinal_ex(context.get(), digest.data(), nullptr) == 1;
  MUSTER_CHECK(is_done, "SHA-256 is not available");
  return digest;
}

std::string sha256_hex(std::string_view bytes) {
  const auto digest = sha256(bytes);
  return to_hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
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

std::uint64_t xxh3(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

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
