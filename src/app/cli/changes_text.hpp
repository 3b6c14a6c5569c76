/// Changes between two trees, as people and scripts read them: a line each, a record, or a patch.
/// One thread.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/cli/context.hpp"
#include "edge/tree/changes.hpp"
#include "edge/tree/diff.hpp"

namespace muster {

/// A path on one side of a change.
struct ChangeSide {
  std::string_view kind;  // "file", "folder", "link", "special"
  std::uint16_t mode = 0;
  std::uint64_t size = 0;  // of files
  std::string target;      // of links
  /// The bytes of a file; asked for by patches only.
  std::function<Result<std::string>(std::size_t limit)> read;
};

struct TreeChange {
  std::string path;
  std::optional<ChangeSide> before;  // absent: added
  std::optional<ChangeSide> after;   // absent: removed
};

/// What both verbs begin with; `chunks` and the folders must outlive what is given back.
TreeChange change_of(const snapshot::Change& change, snapshot::Chunks& chunks);

/// Where the bytes of a job's change are.
struct ChangeSources {
  snapshot::Chunks& chunks;
  int prepared = -1;  // open folder that the job began with; -1: its snapshot
  int folder = -1;    // open folder of what it wrote
};
TreeChange change_of(const snapshot::FolderChange& change, const ChangeSources& sources);

enum class ChangeStyle { names, sizes, patch };

/// Prints in the style, or gathers the record when one is wanted.
class ChangePrinter {
 public:
  ChangePrinter(Context& context, ChangeStyle style);
  ~ChangePrinter();
  Result<> add(const TreeChange& change);
  /// The record's fields beside its changes, as JSON members: `"job":"..."`.
  Result<> finish(const std::string& fields);
  std::uint64_t count() const { return count_; }

 private:
  struct Parts;
  Context& context_;
  ChangeStyle style_;
  std::uint64_t count_ = 0;
  std::unique_ptr<Parts> parts_;
};

}  // namespace muster
