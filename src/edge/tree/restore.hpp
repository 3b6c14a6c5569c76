/// A snapshot back on the disk, bit by bit, checked on the way. Nothing is written outside the
/// folder, whatever a manifest says. Single thread.
#pragma once
#include <string>

#include "edge/tree/chunks.hpp"

namespace muster::snapshot {

/// Into a folder that is there and empty.
Result<> restore(Chunks& chunks, const tree::Hash& id, const std::string& folder);

/// Into `trees/<id>`, once for all who want it: under a lock, by rename, and anew after a restart
/// of the machine, since nothing of it was synced. Gives the folder. Any process.
Result<std::string> restore_once(BlobStore& blobs, const tree::Hash& id, const std::string& trees);

}  // namespace muster::snapshot
