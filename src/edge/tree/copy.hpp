/// A tree copied beside itself: by reflink where the file system can, else byte by byte. Links stay
/// links, modes stay, holes stay; pipes, sockets and devices are left out. However deep the tree
/// is, few descriptors are open. Single thread.
#pragma once
#include <string>

#include "base/error.hpp"

namespace muster::snapshot {

enum class CopyKind { reflink, bytes };

/// Into an empty folder. Tells how: by reflink only if every file was.
Result<CopyKind> copy_tree(const std::string& from, const std::string& to);

}  // namespace muster::snapshot
