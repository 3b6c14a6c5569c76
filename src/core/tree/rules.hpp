/// What every entry of a snapshot is held to, written or read: paths that stay below the top, sizes
/// that can be, an order that has every folder before what is in it. Pure.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/tree/chunker.hpp"
#include "core/tree/entry.hpp"

namespace muster::tree {

struct Limits {
  std::uint64_t entries = 100'000'000;
  std::size_t leaf_bytes = 16U << 20;
  std::size_t chunk_bytes = kMostChunk;
  std::size_t name_bytes = 255;
  std::size_t path_bytes = 4096;
  std::size_t target_bytes = 4096;
  std::size_t depth = 1024;
};

/// Sizes of files, and of all files together, fit a signed number as the kernel's do.
inline constexpr std::uint64_t kMostBytes = INT64_MAX;

/// What is wrong with an entry by itself, as words that follow its path; nothing when all is well.
std::optional<std::string_view> fault_of(const Entry& entry, const Limits& limits);

/// Follows entries in walk order. It remembers two paths, however large the tree is.
class WalkOrder {
 public:
  /// What is wrong with the place of an entry; nothing when it may stand here, and then it does.
  std::optional<std::string_view> take(const Entry& entry);
  /// Entries up to this one were checked before, and stand here.
  void skip_to(const Entry& entry);
  const std::string& last() const { return last_; }

 private:
  std::string last_;
  std::string open_;  // the innermost folder that is still open; those above it are its prefixes
};

}  // namespace muster::tree
