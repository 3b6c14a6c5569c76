/// Which file systems cannot carry the store: those shared over a network lock and map files in
/// ways that damage a write-ahead log.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace muster {

/// FUSE is often a network behind a local face; a person who knows better may allow it.
enum class FuseHome { refused, allowed };

/// The name of a network file system by its statfs magic number; nothing for a local one. FUSE
/// counts as one.
std::optional<std::string_view> network_fs_name(long magic);

/// Kind::usage when `folder` lies on a file system that cannot carry the store.
Result<> require_local_fs(const std::string& folder, FuseHome fuse);

}  // namespace muster
