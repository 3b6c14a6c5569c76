/// The folders of a tree in walk order, read by threads before they are asked for.
#pragma once
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "edge/fs/scan.hpp"

namespace muster::fs {

/// Asked by one thread. A folder nobody has begun to read when it is asked for is read by the one
/// who asks, so there is always progress, however small the window.
class ReadAhead {
 public:
  struct Setup {
    int top = -1;             // stays open as long as this lives
    std::string ignore_file;  // empty: no ignore files are read
    std::shared_ptr<const IgnoreStack> rules;
    int readers = 2;
    std::size_t window = 0;
  };
  explicit ReadAhead(Setup setup);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// The next folder: first the top, then for every folder found, in order, that one.
  Result<Scanned> next();

 private:
  struct Folder;
  using Folders = std::list<Folder>;
  using Turns = std::list<Folder*>;
  struct Folder {
    std::string path;
    std::shared_ptr<const IgnoreStack> rules;
    bool is_begun = false;
    std::optional<Result<Scanned>> scanned;
    Folders::iterator place;  // in ahead_
    Turns::iterator turn;     // in unread_, until it is read
  };

  void read_on();
  Folder* first_unbegun();
  /// Reads a folder that was begun by this thread; the lock is given back meanwhile.
  void read(Folder& folder, Scanner& scanner, std::unique_lock<std::mutex>& lock);
  static Folders inside(const Result<Scanned>& scanned);
  static std::size_t weight(const Folder& folder);

  Setup setup_;
  Scanner own_;  // of the one who asks
  std::mutex mutex_;
  std::condition_variable may_read_, was_read_;
  Folders ahead_;  // not yet taken, in walk order
  Turns unread_;   // those of them that are not read, in walk order
  std::size_t held_ = 0;
  bool is_ending_ = false;
  std::vector<std::jthread> readers_;
};

}  // namespace muster::fs
