/// The paths that git tracks, read from the bytes of its index (versions 2 to 4, SHA-1 or SHA-256).
/// Ignore rules do not count for them. Pure; whatever the bytes are, an answer or an error.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace muster::tree {

class GitIndex {
 public:
  /// `corrupt` when it is no index; `exhausted` when its names have more than 64 MiB; `usage` for
  /// an index that is in two files (split).
  static Result<GitIndex> parse(std::string_view bytes);

  enum class Holds { nothing, itself, below };
  /// Whether the path is tracked, or anything in it when it is a folder.
  Holds holds(std::string_view path) const;
  std::size_t size() const { return ends_.size(); }
  std::string_view name(std::size_t i) const;

 private:
  friend class GitIndexReader;
  std::size_t first_not_before(std::string_view path) const;
  std::string names_;                // one after the other, ascending, none twice
  std::vector<std::uint32_t> ends_;  // of each of them
};

}  // namespace muster::tree
