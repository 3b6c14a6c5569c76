/// A file whose lock says who is at work. Who has it may remove the file: whoever waited for it
/// does not end up with the lock of a file that has no name any more. Any process; the lock goes
/// with the descriptor.
#pragma once
#include <string>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace muster::fs {

/// Waits until it is ours.
Result<UniqueFd> lock_file(const std::string& path);
/// Empty when somebody else has it, or it cannot be opened.
UniqueFd lock_file_now(const std::string& path);

}  // namespace muster::fs
