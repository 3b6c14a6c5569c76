/// Small whole-file operations of the supervisor: relative to a directory descriptor, so that a
/// path may be longer than the kernel takes in one piece. Any thread.
#pragma once
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace muster::process {

/// Everything in the file. `dir_fd` may be AT_FDCWD.
Result<std::string> read_file(int dir_fd, const std::string& name);
/// Writes all of `bytes`, past short writes and interruptions.
Result<> write_all(int fd, std::string_view bytes);
/// Whole or not at all: written under another name, then renamed. Not synced.
Result<> write_renamed(int dir_fd, const std::string& name, std::string_view bytes);
/// Writes into an existing kernel file (cgroup, proc), in one call.
Result<> write_knob(const std::string& path, std::string_view value);
/// Makes the directory with everything above it, mode 0700, and opens it.
Result<UniqueFd> make_dirs(const std::string& path);
/// Opens a directory; not_found when there is none.
Result<UniqueFd> open_dir(const std::string& path);
/// A name for a socket in a directory that fits sun_path however long the directory's path is.
std::string short_name(int dir_fd, std::string_view name);

}  // namespace muster::process
