/// Packs on their way to the store: gathered here, written by a thread while the next one fills.
#pragma once
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "core/tree/pack.hpp"
#include "edge/tree/hash_set.hpp"
#include "port/blob.hpp"

namespace muster::snapshot {

class PackQueue {
 public:
  explicit PackQueue(BlobStore& blobs);
  ~PackQueue();
  PackQueue(const PackQueue&) = delete;
  PackQueue& operator=(const PackQueue&) = delete;

  bool has(const tree::Hash& hash) const;
  /// Fails when a pack before it could not be written.
  Result<> add(const tree::Hash& hash, std::string_view chunk);
  /// Everything is durable when it returns.
  Result<> finish();
  std::uint64_t stored_bytes() const { return stored_; }

 private:
  Result<> send();
  void write();

  BlobStore& blobs_;
  tree::PackWriter writer_;
  HashSet sent_;  // chunks of packs before this one
  std::uint64_t stored_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<tree::PackWriter::Done> waiting_;
  bool is_writing_ = false;
  bool is_over_ = false;
  std::optional<Error> broken_;
  std::thread thread_;
};

}  // namespace muster::snapshot
