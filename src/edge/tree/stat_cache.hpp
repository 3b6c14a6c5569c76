/// What the last snapshot of a folder saw, so that files that have not changed are not read again.
/// A file in walk order, read side by side with the walk. Losing it costs time, nothing else.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "core/tree/entry.hpp"
#include "core/tree/wire.hpp"
#include "edge/fs/walk.hpp"

namespace muster::snapshot {

struct CachedEntry {
  fs::Seen seen;
  tree::Entry entry;
};

/// The cache as it was. Not there, of another version or damaged: empty.
class StatCache {
 public:
  static StatCache open(const std::string& path, std::string_view store);

  /// The snapshot these entries make; nothing when there is no cache.
  const std::optional<tree::Hash>& root() const { return root_; }
  std::uint64_t entries() const { return entries_; }
  /// The same cache, at its beginning.
  StatCache rewound() const;
  /// How many entries stand before the current one.
  std::uint64_t passed() const { return entries_ - left_ - (has_current_ ? 1 : 0); }
  /// The next entry from the beginning; null at the end. Good until the next call.
  const CachedEntry* next();
  /// The cached entry of this path, when there is one. Paths must be asked in walk order.
  const CachedEntry* find(const std::string& path);
  /// True when the file cannot have changed since: what is seen now is what was seen, and it was
  /// old enough then to be told from a later change (the racy-git rule).
  bool is_same(const CachedEntry& cached, const fs::Seen& now) const;

 private:
  bool read_header(std::string_view store);
  void advance();
  std::shared_ptr<const void> map_;
  std::string_view bytes_;  // the whole file
  std::optional<tree::Cursor> cursor_;
  std::optional<tree::Hash> root_;
  std::uint64_t entries_ = 0;
  std::uint64_t left_ = 0;
  std::int64_t taken_ns_ = 0;
  std::size_t forgotten_ = 0;  // bytes at the beginning that were given back
  bool has_current_ = false;
  bool is_begun_ = false;  // next() was called
  CachedEntry current_;
};

/// Writes the next cache beside the old one, and puts it in its place at the end.
class StatCacheWriter {
 public:
  /// Begins with the time of the file system: everything added later was seen after it.
  static Result<StatCacheWriter> begin(const std::string& path);
  StatCacheWriter(StatCacheWriter&&) = default;
  ~StatCacheWriter();
  Result<> add(const fs::Seen& seen, const tree::Entry& entry);
  Result<> finish(const tree::Hash& root, std::string_view store);

 private:
  StatCacheWriter() = default;
  Result<> flush();
  Result<std::string> sum_of_all() const;
  std::string path_;
  std::string temporary_;
  UniqueFd fd_;
  std::string buffer_;
  std::string last_path_;
  std::uint64_t entries_ = 0;
  std::int64_t taken_ns_ = 0;
};

}  // namespace muster::snapshot
