#include "app/server/file_log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/time.hpp"
#include "edge/fs/files.hpp"

namespace muster::server {

FileLog::FileLog(std::string path, Level least, std::size_t limit)
    : path_(std::move(path)), least_(least), limit_(limit) {
  open();
}

void FileLog::open() {
  fd_.reset(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct stat status{};
  size_ = fd_ && ::fstat(fd_.get(), &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
}

void FileLog::rotate() {
  (void)std::rename(path_.c_str(), (path_ + ".1").c_str());
  open();
}

void FileLog::write(Level level, const std::string& line) {
  if (level < least_) return;
  const std::string text =
      fmt::format("{} {} {}\n", to_rfc3339(WallTime{fs::walltime_us()}), name_of(level), line);
  const std::lock_guard lock(mutex_);
  if (size_ + text.size() > limit_) rotate();
  if (fd_ && ::write(fd_.get(), text.data(), text.size()) > 0)
    size_ += text.size();  // a full disk silences the log, nothing else
}

}  // namespace muster::server
