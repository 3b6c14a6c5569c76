/// The bytes of a file of a snapshot, in order, checked; a hole is zeros. Single thread.
#pragma once
#include <functional>
#include <string_view>

#include "edge/tree/chunks.hpp"

namespace muster::snapshot {

/// The error of `each` ends it.
Result<> read_content(Chunks& chunks, const tree::Entry& file,
                      const std::function<Result<>(std::string_view)>& each);

}  // namespace muster::snapshot
