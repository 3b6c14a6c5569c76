/// All of a tree in walk order (core/tree/entry.hpp), without what ignore rules leave out. Two
/// threads read folders ahead, within a window: memory does not grow with the number of files.
/// Nothing is followed but the top itself; what is mounted below is a folder like others.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "core/tree/entry.hpp"

namespace muster::fs {

struct WalkOptions {
  bool use_ignore_rules = true;        // without: only what is always left out is left out
  int readers = 2;                     // threads that read ahead
  std::size_t window = 32'768;         // entries that may be read and not yet taken
  std::vector<std::string> leave_out;  // folders (paths relative to the top) and all in them
};

struct Seen {
  std::string path;  // relative to the top
  tree::EntryKind kind = tree::EntryKind::file;
  std::uint16_t mode = 0;  // permission bits; 0777 for links
  std::uint64_t size = 0;  // of a file's bytes, of a link's target; 0 for folders
  std::int64_t mtime_ns = 0, ctime_ns = 0;
  std::uint64_t inode = 0, device = 0;
};

struct WalkReport {
  std::vector<std::string> ignored_at_top;  // by ignore rules: names, in order
  std::vector<std::string> specials;        // fifos, sockets, devices: left out; paths, in order
  std::vector<std::string> partly_at_top;   // folders of which only what git tracks is taken
  std::string index_fault;                  // why nothing is taken because git tracks it
};

/// Calls `each` on the caller's thread; its error ends the walk and is returned. A folder that
/// cannot be read ends it as well, when its turn comes. What vanishes meanwhile is left out.
Result<WalkReport> walk(const std::string& top, const WalkOptions& options,
                        const std::function<Result<>(Seen&&)>& each);

}  // namespace muster::fs
