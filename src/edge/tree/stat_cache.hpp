/// What the last snapshot of a folder saw, so that files that have not changed are not read again.
/// A file in walk order, read side by side with the walk. Losing it costs time, nothing else.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "edge/tree/cache_leaf.hpp"

namespace muster::snapshot {

/// The cache as it was. Not there, of another version or damaged: empty; where a leaf of it is
/// damaged, it ends before that one.
class StatCache {
 public:
  static StatCache open(const std::string& path, std::string_view store);

  /// The snapshot these entries make; nothing when there is no cache.
  const std::optional<tree::Hash>& root() const { return root_; }
  std::uint64_t entries() const { return entries_; }
  /// How many entries stand before the current one.
  std::uint64_t passed() const { return passed_; }
  /// The cached entry of this path, when there is one. Paths must be asked in walk order.
  const CachedEntry* find(const std::string& path);
  /// What was found last.
  const CachedEntry& current() const { return rows_.current(); }
  /// Its leaf, and how many entries of that stand before it.
  const CachedLeaf& leaf() const { return leaf_; }
  std::uint64_t place_in_leaf() const { return place_; }
  /// True when the file cannot have changed since: what is seen now is what was seen, and it was
  /// old enough then to be told from a later change (the racy-git rule).
  bool is_same(const CachedEntry& cached, const fs::Seen& now) const;
  /// The first leaves, as they are: `size` bytes of them, piece by piece.
  void first_leaves(std::size_t size, const std::function<void(std::string_view)>& each) const;

 private:
  bool read_header(std::string_view store);
  void advance();
  bool next_leaf();
  std::shared_ptr<const void> map_;
  std::string_view bytes_;  // the whole file
  std::optional<tree::Hash> root_;
  std::uint64_t entries_ = 0;
  std::int64_t taken_ns_ = 0;
  std::uint64_t device_ = 0;   // of the cache itself: the clock of taken_ns_
  std::size_t at_ = 0;         // where the next leaf begins
  std::size_t forgotten_ = 0;  // bytes at the beginning that were given back
  CachedLeaf leaf_;
  CachedRows rows_;
  bool has_current_ = false;
  std::uint64_t passed_ = 0;
  std::uint64_t place_ = 0;
};

/// Writes the next cache beside the old one, and puts it in its place at the end.
class StatCacheWriter {
 public:
  /// Begins with the time of the file system: everything added later was seen after it.
  static Result<StatCacheWriter> begin(const std::string& path);
  StatCacheWriter(StatCacheWriter&&) = default;
  ~StatCacheWriter();
  void add(const fs::Seen& seen, const tree::Entry& entry) { leaf_.add(seen, entry); }
  /// What was added since the last leaf is this one.
  Result<> end_leaf(const tree::Piece& leaf, bool is_ended);
  /// Whole leaves of another cache, as they are.
  Result<> keep(std::string_view leaves);
  /// `entries`: of all leaves.
  Result<> finish(const tree::Hash& root, std::uint64_t entries, std::string_view store);

 private:
  StatCacheWriter() = default;
  Result<> flush();
  std::string path_;
  std::string temporary_;
  UniqueFd fd_;
  std::string buffer_;
  CachedLeafWriter leaf_;
  std::int64_t taken_ns_ = 0;
};

}  // namespace muster::snapshot
