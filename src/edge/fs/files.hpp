/// Whole files, small: read, write durably, make directories. Any thread.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace muster::fs {

/// The whole file; `limit` guards against surprises.
Result<std::string> read_file(const std::string& path, std::size_t limit = 64U << 20);
/// Temp file, sync, rename, sync of the directory: after this returns the file survives power loss.
Result<> write_durably(const std::string& path, std::string_view bytes, unsigned mode = 0600);
/// Temp file and rename: readers see the old or the new, but it may not survive power loss.
Result<> write_whole(const std::string& path, std::string_view bytes, unsigned mode = 0600);
/// Makes the directory and its parents, 0700 by default; no error if it is there.
Result<> make_dirs(const std::string& path, unsigned mode = 0700);
bool exists(const std::string& path);
Result<> remove_file(const std::string& path);
/// Names in a directory, sorted; empty when it does not exist.
std::vector<std::string> entries(const std::string& path);

/// This boot of the machine.
Result<std::string> boot_id();
/// Microseconds of CLOCK_BOOTTIME and of the wall clock.
std::int64_t boottime_us();
std::int64_t walltime_us();

}  // namespace muster::fs
