/// The bytes of a stat cache: the entries of each leaf of the manifest together, checked together
/// and depending on nothing around them. So a leaf in which nothing changed is kept as it is, in
/// the manifest and in the next cache.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/tree/entry.hpp"
#include "core/tree/wire.hpp"
#include "edge/fs/walk.hpp"

namespace muster::snapshot {

struct CachedEntry {
  fs::Seen seen;  // without its path, which the entry has
  tree::Entry entry;
};

struct CachedLeaf {
  tree::Piece leaf;           // of the manifest: its size and hash
  std::uint64_t entries = 0;  // at least one
  std::uint64_t bytes = 0;    // of their files
  bool is_ended = false;      // by its own entries; else because the tree ended
  std::string_view all;       // in the cache
  std::string_view rows;      // of it: the entries
};

/// The leaf that begins with the first of these bytes. Nothing when it is damaged or cut off.
std::optional<CachedLeaf> read_cached_leaf(std::string_view bytes);

/// The entries of a leaf, one after the other.
class CachedRows {
 public:
  CachedRows() = default;
  explicit CachedRows(const CachedLeaf& leaf) : in_(leaf.rows), left_(leaf.entries) {}
  /// Before the first one is looked at, too. False behind the last.
  bool advance();
  const CachedEntry& current() const { return current_; }

 private:
  tree::Cursor in_{{}};
  std::uint64_t left_ = 0;
  CachedEntry current_;
};

/// Gathers the entries of a leaf.
class CachedLeafWriter {
 public:
  void add(const fs::Seen& seen, const tree::Entry& entry);
  /// Its bytes, behind those that are in `out`; then the next leaf begins.
  void end(const tree::Piece& leaf, bool is_ended, std::string& out);

 private:
  std::string rows_;
  std::string last_path_;
  std::uint64_t entries_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace muster::snapshot
