#include "edge/tree/pack_queue.hpp"

#include "edge/tree/names.hpp"

namespace muster::snapshot {
namespace {

/// Compressing is most of the work of a first snapshot; while one waits for the disk, another
/// packs.
constexpr int kPackers = 2;
constexpr std::size_t kLoad = 2U << 20;
constexpr std::size_t kWaiting = 2;
constexpr std::size_t kAround = 128;  // a chunk's own costs in memory, about

}  // namespace

PackQueue::PackQueue(BlobStore& blobs) : blobs_(blobs) {
  for (int i = 0; i < kPackers; ++i) threads_.emplace_back([this] { pack(); });
}

PackQueue::~PackQueue() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  for (auto& thread : threads_) thread.join();
}

Result<> PackQueue::add(const tree::Hash& hash, std::string chunk) {
  if (!known_.insert(hash)) return {};
  gathered_ += chunk.size() + kAround;
  gathering_.push_back({hash, std::move(chunk)});
  return gathered_ >= kLoad ? hand_on() : Result<>();
}

Result<> PackQueue::hand_on() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return broken_ || waiting_.size() < kWaiting; });
  if (broken_) return tl::unexpected<Error>(*broken_);
  waiting_.push_back(std::exchange(gathering_, {}));
  gathered_ = 0;
  changed_.notify_all();
  return {};
}

Result<> PackQueue::finish() {
  if (!gathering_.empty()) TRY_VOID(hand_on());
  std::unique_lock lock(mutex_);
  is_finishing_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return broken_ || (waiting_.empty() && busy_ == 0 && open_ == 0); });
  if (broken_) return tl::unexpected<Error>(*broken_);
  return {};
}

/// One thread: takes loads until its pack is full; the last ones go as they are.
void PackQueue::pack() {
  tree::PackWriter writer;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] {
      return is_over_ || !waiting_.empty() || (is_finishing_ && !writer.is_empty() && !broken_);
    });
    if (is_over_) return;
    Load load;
    if (!waiting_.empty()) {
      load = std::move(waiting_.front());
      waiting_.pop_front();
    }
    if (broken_) continue;
    const bool was_open = !writer.is_empty();
    ++busy_;
    lock.unlock();
    changed_.notify_all();
    const auto written = load.empty() ? put(writer) : pack(load, writer);
    load.clear();
    lock.lock();
    --busy_;
    open_ += static_cast<int>(!writer.is_empty()) - static_cast<int>(was_open);
    if (written)
      stored_ += *written;
    else
      broken_ = written.error();
    changed_.notify_all();
  }
}

Result<std::uint64_t> PackQueue::pack(const Load& load, tree::PackWriter& writer) {
  std::uint64_t written = 0;
  for (const auto& [hash, bytes] : load) {
    writer.add(hash, bytes);
    if (!writer.is_full()) continue;
    TRY(const auto more, put(writer));
    written += more;
  }
  return written;
}

Result<std::uint64_t> PackQueue::put(tree::PackWriter& writer) {
  auto done = writer.end();
  TRY_VOID(blobs_.put(pack_name(done.name), done.bytes));
  const auto written = done.bytes.size();
  writer.reuse(std::move(done.bytes));
  return written;
}

}  // namespace muster::snapshot
