/// One folder of a walk, read in one go: what is in it, in order, without what is left out.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "core/tree/entry.hpp"
#include "edge/fs/ignore_stack.hpp"

namespace muster::fs {

struct Found {
  std::uint32_t name_at = 0;  // in Scanned::names
  std::uint16_t name_size = 0;
  tree::EntryKind kind = tree::EntryKind::file;
  bool is_partly = false;  // a folder of which only what git tracks is taken
  std::uint16_t mode = 0;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0, ctime_ns = 0;
  std::uint64_t inode = 0, device = 0;
};

struct Scanned {
  std::string path;   // of the folder, relative to the top
  std::string names;  // one after the other: a folder of 10^6 files is one piece of memory
  std::vector<Found> found;
  std::vector<std::string> specials;  // fifos, sockets, devices: their paths
  std::vector<std::string> ignored;   // by ignore rules; their names, in the top folder only
  bool is_gone = false;               // it was removed or exchanged since it was seen
  // What counts in the folders inside. Shared by them all.
  std::shared_ptr<const IgnoreStack> rules;

  std::string_view name(const Found& one) const {
    return std::string_view(names).substr(one.name_at, one.name_size);
  }
};

/// "a/b" for the folder "a" and the name "b"; "b" in the top folder.
std::string path_in(std::string_view folder, std::string_view name);

/// Reads folders below `top`. One for each thread: it keeps its buffer.
class Scanner {
 public:
  /// Without a name for ignore files, none are read.
  Scanner(int top, std::string ignore_file);
  Result<Scanned> scan(const std::string& path, std::shared_ptr<const IgnoreStack> rules);

 private:
  struct Name {
    std::uint32_t at = 0;
    std::uint16_t size = 0;
    unsigned char type = 0;  // DT_...
  };
  Result<> read_names(int folder, Scanned& into);
  Result<> read_rules(int folder, Scanned& into);
  Result<> look_at_all(int folder, Scanned& into);
  Result<> look_at(int folder, const Name& name, Scanned& into);
  Fate fate_of(const Name& name, bool is_folder, Scanned& into);

  int top_;
  std::string ignore_file_;
  std::vector<char> buffer_;
  std::vector<Name> listed_;  // of the folder being read
  std::string path_;          // of the name being looked at
};

}  // namespace muster::fs
