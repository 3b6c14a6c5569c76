/// What files take of the disk: blocks, not lengths; a file of several names once; no link is
/// followed, and nothing that is mounted below is entered. Any thread.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <utility>

namespace muster::fs {

struct Usage {
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;  // folders are none
  void add(const Usage& other) {
    bytes += other.bytes;
    files += other.files;
  }
};

/// Files that were counted under another name already.
using Counted = std::set<std::pair<std::uint64_t, std::uint64_t>>;

/// Of a file, or of a folder with all that is in it; nothing when there is none. What may not be
/// looked at is not counted.
Usage usage_of(const std::string& path, Counted& counted);

}  // namespace muster::fs
