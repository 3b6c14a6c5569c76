// Any bytes as the leaves of a snapshot, under a root that fits them in size: read, or refused.
// What was read is taken by the writer, which makes the same bytes of it, unless it cuts elsewhere.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "core/tree/manifest.hpp"

namespace tree = muster::tree;

namespace {

/// One leaf, or two when the first byte says where the first ends.
std::vector<std::string> leaves_of(std::string_view bytes) {
  const auto first = static_cast<unsigned char>(bytes.front());
  bytes.remove_prefix(1);
  if (first == 0 || first >= bytes.size()) return {std::string(bytes)};
  return {std::string(bytes.substr(0, first)), std::string(bytes.substr(first))};
}

/// Totals so large that they never refuse: what is looked for lies in the leaves.
tree::Root root_of(const std::vector<std::string>& leaves) {
  tree::Root root{.entries = 1U << 30, .bytes = tree::kMostBytes};
  for (const auto& leaf : leaves) root.leaves.push_back({.size = leaf.size()});
  return root;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto leaves = leaves_of({reinterpret_cast<const char*>(data), size});
  tree::LeafReader reader(root_of(leaves));
  std::string written;
  tree::LeafWriter writer([&](std::string leaf) {
    written += leaf;
    return muster::Result<>();
  });
  std::size_t count = 0;
  for (const auto& leaf : leaves) {
    const auto entries = reader.read(leaf);
    if (!entries) return 0;
    count += entries->size();
    for (const auto& entry : *entries)
      if (!writer.add(entry)) std::abort();
  }
  if (!writer.finish()) std::abort();
  const bool is_one_leaf = leaves.size() == 1 && writer.root().leaves.size() == 1;
  if (is_one_leaf && written != leaves.front()) std::abort();
  if (writer.root().entries != count) std::abort();
  return 0;
}
