// Any bytes as the root of a snapshot: read, or refused; what was read has no other form.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "core/tree/manifest.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto root = muster::tree::decode_root(bytes);
  if (root && muster::tree::encode(*root) != bytes) std::abort();
  return 0;
}
