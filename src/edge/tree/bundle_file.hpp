/// The bundle of a snapshot as an open file. Single thread.
#pragma once
#include <string>

#include "base/unique_fd.hpp"
#include "edge/tree/bundle.hpp"

namespace muster::snapshot {

/// A file without a name on the disk of `folder`: it goes with whoever has it open.
Result<UniqueFd> file_without_name(const std::string& folder);
/// In such a file; at its beginning.
Result<UniqueFd> bundle_file(BlobStore& from, const tree::Hash& id, const std::string& folder);
/// What an open file holds, from where it stands.
Source source_of(int fd);

}  // namespace muster::snapshot
