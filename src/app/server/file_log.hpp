/// The server's log: a file that is rotated by size, one line an event. Thread-safe.
#pragma once
#include <mutex>
#include <string>

#include "base/log.hpp"
#include "base/unique_fd.hpp"

namespace muster::server {

class FileLog final : public Log {
 public:
  /// Keeps `path` and `path.1`, each of at most `limit` bytes.
  FileLog(std::string path, Level least, std::size_t limit = 8U << 20);
  void write(Level level, const std::string& line) override;

 private:
  void open();
  void rotate();

  std::string path_;
  Level least_;
  std::size_t limit_;
  std::mutex mutex_;
  UniqueFd fd_;
  std::size_t size_ = 0;
};

}  // namespace muster::server
