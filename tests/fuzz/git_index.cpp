// Any bytes as git's index: an error, or names in order, each of which is found.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/tree/git_index.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using muster::tree::GitIndex;
  const auto index = GitIndex::parse({reinterpret_cast<const char*>(data), size});
  if (!index) return 0;
  for (std::size_t i = 0; i < index->size(); ++i) {
    if (i > 0 && index->name(i - 1) >= index->name(i)) std::abort();
    if (index->holds(index->name(i)) != GitIndex::Holds::itself) std::abort();
  }
  return 0;
}
