/// Ignore files with git's exact meaning. Pure; paths are bytes.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "core/tree/glob.hpp"

namespace muster::tree {

/// One line of an ignore file, compiled.
struct IgnorePattern {
  Glob glob;
  bool is_negated = false;   // "!x": not ignored after all
  bool is_folder = false;    // "x/": folders only
  bool is_anchored = false;  // has a '/' not at its end: matched against the path, not the name
};

/// One ignore file. That nothing inside an ignored folder comes back is up to the walk, which does
/// not go there.
class IgnoreList {
 public:
  static IgnoreList parse(std::string_view text);
  /// What the last matching pattern says: true ignored, false not; nothing: no pattern matches.
  /// `path` is relative to the folder of the file; its name is what follows the last '/'.
  std::optional<bool> verdict(std::string_view path, bool is_folder) const;
  bool is_empty() const { return patterns_.empty(); }

 private:
  std::vector<IgnorePattern> patterns_;
};

}  // namespace muster::tree
