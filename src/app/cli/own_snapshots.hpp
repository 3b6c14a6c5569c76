/// The snapshots of this home: found by what a person types, and by the jobs that use them. One
/// thread.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>

#include "app/cli/context.hpp"
#include "edge/tree/chunks.hpp"

namespace muster {

/// The store, held: nothing is collected while this lives.
class OwnSnapshots {
 public:
  static Result<std::unique_ptr<OwnSnapshots>> open(Context& context);
  snapshot::Chunks& chunks() { return chunks_; }
  BlobStore& blobs() { return *blobs_; }
  /// A snapshot's id, the beginning of one (4 digits at least), or a job that has one.
  Result<tree::Hash> find(const std::string& word);
  /// Held no longer, for who wants the store alone.
  void release() { lock_.reset(); }

 private:
  OwnSnapshots(Context& context, std::unique_ptr<BlobStore> blobs, std::shared_ptr<void> lock)
      : context_(context), blobs_(std::move(blobs)), lock_(std::move(lock)), chunks_(*blobs_) {}
  Result<std::set<std::string>> beginning_with(const std::string& digits);

  Context& context_;
  std::unique_ptr<BlobStore> blobs_;
  std::shared_ptr<void> lock_;
  snapshot::Chunks chunks_;
};

/// A size as people read it.
std::string size_text(std::uint64_t bytes);

/// The code of a job: `not_found` when it runs in place.
struct JobCode {
  std::string job;   // its id
  std::string text;  // its document
  tree::Hash snapshot;
};
Result<JobCode> code_of_job(Context& context, const std::string& word);

/// Jobs that run a snapshot, by its id.
struct SnapshotUse {
  std::uint64_t jobs = 0;
  std::string newest;  // the document of the newest of them
};
Result<std::map<std::string, SnapshotUse>> snapshot_uses(Context& context);
/// Those of jobs that have not ended; and these jobs.
Result<std::set<std::string>> live_snapshots(Context& context);
Result<std::set<std::string>> live_jobs(Context& context);

}  // namespace muster
