/// Everything that lies in a folder, in walk order (core/tree/entry.hpp) and with nothing left out:
/// what a job left behind, whiteouts of an overlay included. A folder at a time is held in memory.
/// Single thread.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace muster::snapshot {

struct FolderEntry {
  /// A whiteout stands in an overlay's upper folder for a name that was removed.
  enum class Kind : std::uint8_t { file, folder, link, special, whiteout };
  std::string path;  // relative to the top
  Kind kind = Kind::file;
  std::uint16_t mode = 0;  // permission bits; 0777 for links
  std::uint64_t size = 0;  // of files
  std::string target;      // of links
  bool is_opaque = false;  // folders of an overlay: nothing of what is below shows through
};

class FolderStream {
 public:
  static Result<FolderStream> open(const std::string& folder);
  /// Nothing at the end. What vanishes meanwhile is left out.
  Result<std::optional<FolderEntry>> next();
  int top() const { return top_.get(); }

 private:
  explicit FolderStream(UniqueFd top) : top_(std::move(top)) {}
  /// False when it is gone. Tells as well whether the folder is opaque.
  Result<bool> enter(const std::string& path, bool& is_opaque);

  struct Level {
    std::vector<FolderEntry> entries;
    std::size_t next = 0;
  };
  UniqueFd top_;
  std::vector<Level> levels_;
};

/// The bytes of a file below an open folder, never through a link; `exhausted` beyond `limit`.
Result<std::string> read_below(int top, const std::string& path, std::size_t limit);

}  // namespace muster::snapshot
