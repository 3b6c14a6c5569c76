/// What a job changed in its own folder, compared with what it began with: its snapshot, or the
/// tree that its set-up made of that. Reads the folder of an overlay as the kernel does, without
/// mounting it. Single thread.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "edge/tree/chunks.hpp"
#include "edge/tree/folder_stream.hpp"

namespace muster::snapshot {

/// What is left of a job's folder on one node.
struct JobTree {
  std::string folder;       // what was written (of an overlay), or the whole copy
  bool is_overlay = false;  // a name that is not in `folder` is as it was
  /// Links that were made for names which ignore rules left out, and where they lead.
  std::vector<std::pair<std::string, std::string>> links;
  /// The tree that the set-up made, where the job began with that; empty: the snapshot.
  std::string prepared;
};

/// In `jobs/ID/aK/nN` (docs/reference/home.md), where the folder is called `name`. Nothing when it
/// was not kept, or is not there yet; `links` is left for the caller.
std::optional<JobTree> find_job_tree(const std::string& attempt_dir, const std::string& name);

/// In walk order. Without `before` it was added, without `after` removed. Of a prepared tree the
/// pieces of `before` tell its size only.
struct FolderChange {
  std::optional<tree::Entry> before;
  std::optional<FolderEntry> after;
  const std::string& path() const { return after ? after->path : before->path; }
};

/// Files are compared by their bytes: one that was only touched is none. The error of `each` ends
/// it.
Result<> job_changes(Chunks& chunks, const tree::Hash& id, const JobTree& job,
                     const std::function<Result<>(const FolderChange&)>& each);

}  // namespace muster::snapshot
