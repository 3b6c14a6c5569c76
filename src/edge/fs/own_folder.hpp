/// A folder that is to be ours alone: made, or taken over only where that surprises nobody.
#pragma once
#include <string>

#include "base/error.hpp"

namespace muster::fs {

/// Makes `path` (0700), or closes it to others when it is empty or has `mark` in it already.
/// Refuses a folder of somebody else, one that others may write to, and one full of other things.
Result<> claim_folder(const std::string& path, const std::string& mark);

}  // namespace muster::fs
