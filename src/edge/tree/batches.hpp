/// Small files read ahead by threads, given back in the order they came. The caller's thread and
/// the readers share nothing but the batches.
#pragma once
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "edge/tree/read_file.hpp"

namespace muster::snapshot {

struct Item {
  fs::Seen seen;
  tree::Entry entry;
  bool is_known = false;  // the entry is complete: nothing to read
  /// Set by a reader: nothing when the file is gone.
  Result<std::optional<std::vector<ReadPiece>>> pieces = std::optional<std::vector<ReadPiece>>();
};

class Batches {
 public:
  Batches(int top, Racy racy, int readers);
  ~Batches();
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;

  void add(Item item);
  bool is_empty() const { return pending_ == 0; }
  /// The oldest batch. It is waited for when the window is full or `all` are wanted (then what is
  /// being gathered goes on its way first); else null while it is being read.
  std::unique_ptr<std::vector<Item>> take(bool all);

 private:
  struct Batch {
    std::vector<Item> items;
    std::uint64_t bytes = 0;
    bool is_taken = false;
    bool is_read = false;
  };
  void hand_on();
  void read();

  int top_;
  Racy racy_;
  std::size_t pending_ = 0;  // added and not taken
  std::unique_ptr<Batch> gathering_ = std::make_unique<Batch>();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Batch>> batches_;
  bool is_over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace muster::snapshot
