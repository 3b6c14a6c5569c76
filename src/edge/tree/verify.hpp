/// Reads everything a store has and checks it: packs, chunks, roots, and that every root finds
/// its chunks.
#pragma once
#include <string>
#include <vector>

#include "core/tree/entry.hpp"
#include "port/blob.hpp"

namespace muster::snapshot {

struct Fault {
  std::string name;  // of the object, or the file of a snapshot
  std::string what;
  bool is_pack = false;
  bool is_tree = false;
};

struct Verified {
  std::uint64_t packs = 0;
  std::uint64_t chunks = 0;
  std::uint64_t bytes = 0;
  std::uint64_t trees = 0;
  std::vector<Fault> faults;
};

/// `repair` removes what is damaged, so that the next submit sends it again.
Result<Verified> verify(BlobStore& blobs, bool repair);

}  // namespace muster::snapshot
