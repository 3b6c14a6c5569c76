/// Comparing tokens in a time that does not tell how much of one is right. Pure.
#pragma once
#include <string_view>

namespace muster::http {

/// An empty one is nobody's.
inline bool is_same_token(std::string_view a, std::string_view b) {
  if (a.size() != b.size() || a.empty()) return false;
  unsigned char different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) different |= static_cast<unsigned char>(a[i] ^ b[i]);
  return different == 0;
}

}  // namespace muster::http
