/// A writable folder over a restored tree that stays as it is: overlayfs in a mount namespace of
/// this process, which its children share and which goes with them.
#pragma once
#include <string>

#include "base/error.hpp"

namespace muster::snapshot {

struct Overlay {
  std::string lower;  // only read
  std::string upper;  // takes what is written
  std::string work;   // for the kernel; empty, on the same file system as `upper`
  std::string at;     // where the sum of both appears
};

/// Moves this process into a mount namespace of its own (with a user namespace where it has no
/// right to mount) and mounts there. The caller must be single-threaded. After an error nothing is
/// mounted.
Result<> mount_overlay(const Overlay& overlay);

/// In the namespace that `mount_overlay` made: nothing below this folder can be written any more.
/// Where the kernel does not allow it, it stays as it is.
void make_read_only(const std::string& folder);

}  // namespace muster::snapshot
