/// Opens what lies below a folder, however long its path, and never through a link: somebody who
/// exchanges a folder for a link meanwhile leads nobody out of the tree. Any thread.
#pragma once
#include <string_view>

#include "base/unique_fd.hpp"

namespace muster::fs {

/// `path` is relative to `top`; empty is the top itself. Empty with errno set when it fails: ELOOP
/// or ENOTDIR when a part of it is a link. At most two descriptors are open meanwhile.
UniqueFd open_below(int top, std::string_view path, int flags);

}  // namespace muster::fs
