#include "edge/fs/read_ahead.hpp"

#include <algorithm>
#include <iterator>

#include "base/check.hpp"

namespace muster::fs {

ReadAhead::ReadAhead(Setup setup) : setup_(std::move(setup)), own_(setup_.top, setup_.ignore_file) {
  auto& top = ahead_.emplace_back();
  top.rules = setup_.rules;
  top.place = ahead_.begin();
  top.turn = unread_.insert(unread_.end(), &top);
  for (int i = 0; i < setup_.readers; ++i) readers_.emplace_back([this] { read_on(); });
}

ReadAhead::~ReadAhead() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  may_read_.notify_all();
  readers_.clear();
}

Result<Scanned> ReadAhead::next() {
  std::unique_lock lock(mutex_);
  MUSTER_CHECK(!ahead_.empty(), "more folders asked for than were found");
  auto& first = ahead_.front();
  if (!first.is_begun) {
    first.is_begun = true;
    read(first, own_, lock);
  }
  was_read_.wait(lock, [&] { return first.scanned.has_value(); });
  const bool was_full = held_ >= setup_.window;
  held_ -= weight(first);
  auto scanned = std::move(*first.scanned);
  ahead_.pop_front();
  if (was_full && held_ < setup_.window) may_read_.notify_all();
  return scanned;
}

void ReadAhead::read_on() {
  Scanner scanner(setup_.top, setup_.ignore_file);
  std::unique_lock lock(mutex_);
  for (;;) {
    Folder* folder = nullptr;
    may_read_.wait(lock, [&] {
      if (is_ending_) return true;
      if (held_ >= setup_.window) return false;
      return (folder = first_unbegun()) != nullptr;
    });
    if (is_ending_) return;
    folder->is_begun = true;
    read(*folder, scanner, lock);
  }
}

// Only those that are being read stand before it: no more than there are threads.
ReadAhead::Folder* ReadAhead::first_unbegun() {
  const auto found = std::find_if(unread_.begin(), unread_.end(),
                                  [](const Folder* folder) { return !folder->is_begun; });
  return found == unread_.end() ? nullptr : *found;
}

void ReadAhead::read(Folder& folder, Scanner& scanner, std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  auto scanned = scanner.scan(folder.path, folder.rules);
  auto more = inside(scanned);
  Turns turns;
  for (auto& inner : more) inner.turn = turns.insert(turns.end(), &inner);
  lock.lock();
  const bool has_more = !more.empty();
  // What is inside comes right after the folder, and takes its turn.
  ahead_.splice(std::next(folder.place), more);
  unread_.splice(folder.turn, turns);
  unread_.erase(folder.turn);
  folder.scanned = std::move(scanned);
  held_ += weight(folder);
  if (has_more) may_read_.notify_all();
  if (&folder == &ahead_.front()) was_read_.notify_one();
}

ReadAhead::Folders ReadAhead::inside(const Result<Scanned>& scanned) {
  Folders folders;
  if (!scanned) return folders;
  for (const auto& found : scanned->found) {
    if (found.kind != tree::EntryKind::folder) continue;
    auto& folder = folders.emplace_back();
    folder.path = path_in(scanned->path, scanned->name(found));
    folder.rules = found.is_partly
                       ? std::make_shared<const IgnoreStack>(scanned->rules->leaving_out_all())
                       : scanned->rules;
    folder.place = std::prev(folders.end());
  }
  return folders;
}

std::size_t ReadAhead::weight(const Folder& folder) {
  const auto& scanned = *folder.scanned;
  return 1 + (scanned ? scanned->found.size() : 0);
}

}  // namespace muster::fs
