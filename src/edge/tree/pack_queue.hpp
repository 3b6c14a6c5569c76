/// Chunks on their way to the store: gathered here, packed and written by threads meanwhile. What
/// is added together stays together.
#pragma once
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

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

  bool has(const tree::Hash& hash) const { return known_.has(hash); }
  /// Fails when a pack before it could not be written.
  Result<> add(const tree::Hash& hash, std::string chunk);
  /// Everything is durable when it returns.
  Result<> finish();
  /// Of all packs; complete after `finish`.
  std::uint64_t stored_bytes() const { return stored_; }

 private:
  struct Chunk {
    tree::Hash hash;
    std::string bytes;
  };
  using Load = std::vector<Chunk>;
  Result<> hand_on();
  void pack();
  /// Gives the bytes written.
  Result<std::uint64_t> pack(const Load& load, tree::PackWriter& writer);
  Result<std::uint64_t> put(tree::PackWriter& writer);

  BlobStore& blobs_;
  HashSet known_;
  Load gathering_;
  std::size_t gathered_ = 0;  // bytes
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Load> waiting_;
  int busy_ = 0;  // threads that pack
  int open_ = 0;  // threads whose pack is not full yet
  bool is_finishing_ = false;
  bool is_over_ = false;
  std::uint64_t stored_ = 0;
  std::optional<Error> broken_;
  std::vector<std::thread> threads_;
};

}  // namespace muster::snapshot
