#include "core/tree/entry.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "base/text.hpp"

namespace muster::tree {
namespace {

/// A '/' ends a name, so it sorts below every byte a name can have.
int rank_of(char c) { return c == '/' ? 0 : static_cast<unsigned char>(c) + 1; }

}  // namespace

bool before(std::string_view a, std::string_view b) {
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (in_b == b.end()) return false;
  return in_a == a.end() || rank_of(*in_a) < rank_of(*in_b);
}

std::string to_hex(const Hash& hash) {
  return muster::to_hex({reinterpret_cast<const char*>(hash.bytes.data()), hash.bytes.size()});
}

std::optional<Hash> from_hex(std::string_view text) {
  Hash hash;
  if (text.size() != 2 * hash.bytes.size()) return std::nullopt;
  const auto bytes = muster::from_hex(text);
  if (!bytes) return std::nullopt;
  std::copy(bytes->begin(), bytes->end(), hash.bytes.begin());
  return hash;
}

Hash hash_of(std::string_view bytes) { return Hash{.bytes = sha256(bytes)}; }

}  // namespace muster::tree
