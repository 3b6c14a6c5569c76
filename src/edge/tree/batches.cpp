#include "edge/tree/batches.hpp"

namespace muster::snapshot {
namespace {

constexpr std::size_t kItems = 256;
constexpr std::uint64_t kBytes = 2U << 20;
constexpr std::size_t kWindow = 6;

}  // namespace

Batches::Batches(int top, Racy racy, int readers) : top_(top), racy_(racy) {
  for (int i = 0; i < readers; ++i) threads_.emplace_back([this] { read(); });
}

Batches::~Batches() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void Batches::add(Item item) {
  ++pending_;
  gathering_->bytes += item.is_known ? 0 : item.seen.size;
  gathering_->items.push_back(std::move(item));
  if (gathering_->items.size() >= kItems || gathering_->bytes >= kBytes) hand_on();
}

void Batches::hand_on() {
  if (gathering_->items.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    batches_.push_back(std::move(gathering_));
  }
  changed_.notify_all();
  gathering_ = std::make_unique<Batch>();
}

std::unique_ptr<std::vector<Item>> Batches::take(bool all) {
  if (all) hand_on();
  std::unique_lock lock(mutex_);
  if (batches_.empty()) return nullptr;
  if (!all && batches_.size() < kWindow && !batches_.front()->is_read) return nullptr;
  changed_.wait(lock, [this] { return batches_.front()->is_read; });
  auto items = std::make_unique<std::vector<Item>>(std::move(batches_.front()->items));
  batches_.pop_front();
  pending_ -= items->size();
  return items;
}

void Batches::read() {
  std::unique_lock lock(mutex_);
  for (;;) {
    Batch* next = nullptr;
    changed_.wait(lock, [&] {
      for (const auto& batch : batches_)
        if (!batch->is_taken) {
          next = batch.get();
          break;
        }
      return is_over_ || next != nullptr;
    });
    if (is_over_) return;
    next->is_taken = true;
    lock.unlock();
    for (auto& item : next->items)
      if (!item.is_known) item.pieces = read_small(top_, item.seen, racy_);
    lock.lock();
    next->is_read = true;
    changed_.notify_all();
  }
}

}  // namespace muster::snapshot
