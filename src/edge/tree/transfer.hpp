/// A snapshot from one store to another: what is missing there, the root last. Starts threads of
/// its own; they end with the call.
#pragma once
#include <cstdint>

#include "core/tree/entry.hpp"
#include "port/blob.hpp"

namespace muster::snapshot {

struct Transferred {
  std::uint64_t chunks = 0;  // that were missing
  std::uint64_t bytes = 0;   // written there
};

/// The other store has the whole snapshot, durably, when it returns. A root that is there speaks
/// for all it names.
Result<Transferred> transfer(BlobStore& from, BlobStore& to, const tree::Hash& id);

}  // namespace muster::snapshot
