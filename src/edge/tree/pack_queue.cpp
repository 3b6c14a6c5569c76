#include "edge/tree/pack_queue.hpp"

#include "edge/tree/names.hpp"

namespace muster::snapshot {

PackQueue::PackQueue(BlobStore& blobs) : blobs_(blobs), thread_([this] { write(); }) {}

PackQueue::~PackQueue() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool PackQueue::has(const tree::Hash& hash) const { return sent_.has(hash); }

Result<> PackQueue::add(const tree::Hash& hash, std::string_view chunk) {
  if (!sent_.insert(hash)) return {};
  writer_.add(hash, chunk);
  return writer_.size() >= tree::kPackSize ? send() : Result<>();
}

/// Hands the full pack to the thread; waits while the one before is still being written.
Result<> PackQueue::send() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !waiting_; });
  if (broken_) return tl::unexpected<Error>(*broken_);
  waiting_ = writer_.end();
  stored_ += waiting_->bytes.size();
  changed_.notify_all();
  return {};
}

Result<> PackQueue::finish() {
  if (!writer_.is_empty()) TRY_VOID(send());
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !waiting_ && !is_writing_; });
  if (broken_) return tl::unexpected<Error>(*broken_);
  return {};
}

void PackQueue::write() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_over_ || waiting_; });
    if (!waiting_) return;
    const auto pack = std::move(*waiting_);
    waiting_.reset();
    if (broken_ || is_over_) continue;
    is_writing_ = true;
    lock.unlock();
    changed_.notify_all();
    const auto done = blobs_.put(pack_name(pack.name), pack.bytes);
    lock.lock();
    is_writing_ = false;
    if (!done) broken_ = done.error();
    changed_.notify_all();
  }
}

}  // namespace muster::snapshot
