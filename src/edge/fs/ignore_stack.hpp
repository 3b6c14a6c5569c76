/// The ignore rules that count in a folder: those of its own ignore file and of the folders above.
/// Values that do not change once made; shared by the threads of a walk.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "core/tree/ignore.hpp"
#include "edge/fs/tracked.hpp"

namespace muster::fs {

/// `partly`: a folder that is left out but for what git tracks in it.
enum class Fate { taken, left_out, partly };

class IgnoreStack {
 public:
  /// `path` is relative to the top of the walk. The deepest file that says anything decides; what
  /// git tracks is taken whatever .gitignore says.
  Fate fate(std::string_view path, bool is_folder) const;
  bool is_empty() const { return files_.empty() && !leaves_out_all_; }
  const Tracked* tracked() const { return tracked_.get(); }
  /// With the rules of an ignore file in `folder` (relative to the top) above all others.
  IgnoreStack with(tree::IgnoreList list, std::string_view folder) const;
  IgnoreStack with(std::shared_ptr<const Tracked> tracked) const;
  /// For what is in a folder that is left out.
  IgnoreStack leaving_out_all() const;

 private:
  bool is_ignored(std::string_view path, bool is_folder) const;
  struct File {
    // Shared by the stacks of all folders below it.
    std::shared_ptr<const tree::IgnoreList> list;
    std::size_t skip = 0;  // bytes of a path before what its patterns see
  };
  std::vector<File> files_;
  std::shared_ptr<const Tracked> tracked_;  // shared by all stacks of a walk; null: no git
  bool leaves_out_all_ = false;
};

/// The name that ignore files have in this whole tree: the first of .musterignore, .amlignore and
/// .gitignore that the top folder has as a file.
std::string ignore_file_name(int top);

/// What counts before any ignore file is read: for .gitignore what .git/info/exclude says, and what
/// git tracks. `top` must stay open as long as the rules live.
Result<IgnoreStack> first_rules(int top, const std::string& file_name);

/// The ignore file of an open folder; empty when it is gone or no plain file (git does not follow
/// links here either). `shown` names it in an error.
Result<tree::IgnoreList> read_ignore_file(int folder, const std::string& name,
                                          const std::string& shown);

}  // namespace muster::fs
