/// The manifest as bytes: leaves of entries, and the root whose hash is the snapshot's id.
/// Decoding trusts nothing: what it gives back is in walk order, below the top, within the limits,
/// and would be written as the same bytes again. docs/reference/store.md has the bytes.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "core/tree/entry.hpp"
#include "core/tree/rules.hpp"

namespace muster::tree {

inline constexpr std::size_t kLeafEntries = 4096;     // a leaf is ended at this many entries,
inline constexpr std::size_t kLeafSize = 1U << 20;    // or when it is this large
inline constexpr std::size_t kEntrySize = 15U << 20;  // an entry, as bytes, is at most this large

struct Root {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;    // of all files, holes included
  std::vector<Piece> leaves;  // size and hash of each leaf, in order
  auto operator<=>(const Root&) const = default;
};

std::string encode(const Root& root);
Result<Root> decode_root(std::string_view bytes, const Limits& limits = {});

/// Takes entries in walk order and gives away leaves as they fill. Single thread.
class LeafWriter {
 public:
  /// Gets each leaf when it is full; `root().leaves.back()` is its size and hash by then.
  using OnLeaf = std::function<Result<>(std::string leaf)>;
  explicit LeafWriter(OnLeaf on_leaf) : on_leaf_(std::move(on_leaf)) {}
  /// An entry that could not be read back is refused, and leaves the writer as it was.
  Result<> add(const Entry& entry);
  /// A whole leaf that was made before, as `add` would make it of its entries: it was ended by
  /// them, or nothing comes behind it. `last` is the last of them. Only where a leaf begins.
  Result<> keep(const Piece& leaf, std::uint64_t entries, std::uint64_t bytes, const Entry& last);
  /// No leaf is begun: the next entry is the first of one.
  bool is_between_leaves() const { return in_leaf_ == 0; }
  /// The last leaf; then the root is complete.
  Result<> finish();
  const Root& root() const { return root_; }

 private:
  Result<> flush();
  OnLeaf on_leaf_;
  std::string leaf_;
  std::uint32_t in_leaf_ = 0;
  WalkOrder order_;
  Root root_;
};

/// Checks entries across leaves: order, parents, totals. One for each manifest read, fed in order,
/// not used any more after an error. That a leaf has the hash the root gives is the caller's to
/// check, before it comes here. Single thread.
class LeafReader {
 public:
  explicit LeafReader(const Root& root, const Limits& limits = {}) : root_(root), limits_(limits) {}
  /// The entries of the next leaf.
  Result<std::vector<Entry>> read(std::string_view leaf);
  /// After the last leaf: do the totals agree?
  Result<> finish() const;

 private:
  Result<> check(const Entry& entry);
  Root root_;
  Limits limits_;
  std::size_t next_leaf_ = 0;
  std::uint64_t entries_ = 0;
  std::uint64_t bytes_ = 0;
  WalkOrder order_;
};

}  // namespace muster::tree
