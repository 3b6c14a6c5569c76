#include "edge/process/log_pump.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "edge/logs/index_row.hpp"
#include "edge/process/attempt_dir.hpp"

namespace muster::process {
namespace {

UniqueFd open_log(int dir_fd, const std::string& name) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
  return UniqueFd(::openat(dir_fd, name.c_str(), kFlags, 0600));
}

}  // namespace

RankLog::RankLog(int dir_fd, int rank) : dir_fd_(dir_fd), rank_(rank) {}

bool RankLog::open(Stream stream) {
  auto& file = files_[static_cast<std::size_t>(stream)];
  if (file.fd) return true;
  file.fd = open_log(dir_fd_, log_name(rank_, stream == Stream::out ? "out" : "err"));
  if (!file.fd) file.error = errno;
  return static_cast<bool>(file.fd);
}

std::size_t RankLog::put(File& file, std::string_view bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto put = ::write(file.fd.get(), bytes.data() + done, bytes.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      file.error = put < 0 ? errno : EIO;
      break;
    }
    done += static_cast<std::size_t>(put);
  }
  if (done == 0) return 0;
  file.hash.feed(bytes.substr(0, done));
  file.size += static_cast<std::int64_t>(done);
  file.ends_line = bytes[done - 1] == '\n';
  return done;
}

bool RankLog::mark_gap(File& file) {
  if (file.lost == 0) return true;
  const auto line = fmt::format("{}[muster: {} bytes lost: {}]\n", file.ends_line ? "" : "\n",
                                file.lost, std::strerror(file.error));
  // The mark is whole or absent: half of one would pass for the job's own words.
  const auto put = ::write(file.fd.get(), line.data(), line.size());
  if (put != static_cast<ssize_t>(line.size())) {
    if (put > 0 && ::ftruncate(file.fd.get(), file.size) != 0) file.error = errno;
    return false;
  }
  file.hash.feed(line);
  file.size += put;
  file.ends_line = true;
  file.lost = 0;
  return true;
}

void RankLog::append(Stream stream, std::string_view bytes, WallTime at) {
  if (bytes.empty()) return;
  auto& file = files_[static_cast<std::size_t>(stream)];
  std::size_t done = 0;
  if (open(stream) && mark_gap(file)) done = put(file, bytes);
  file.lost += static_cast<std::int64_t>(bytes.size() - done);
  index(stream, at);
}

void RankLog::finish(WallTime at) {
  for (const auto stream : {Stream::out, Stream::err}) {
    auto& file = files_[static_cast<std::size_t>(stream)];
    if (file.lost > 0 && open(stream) && mark_gap(file)) index(stream, at);
  }
}

std::string RankLog::lost() const {
  std::string text;
  for (const auto stream : {Stream::out, Stream::err}) {
    const auto& file = files_[static_cast<std::size_t>(stream)];
    if (file.lost > 0)
      text += fmt::format("{}{} bytes of its {} are lost: {}", text.empty() ? "" : ", ", file.lost,
                          stream == Stream::out ? "stdout" : "stderr", std::strerror(file.error));
  }
  return text;
}

void RankLog::index(Stream stream, WallTime at) {
  auto& file = files_[static_cast<std::size_t>(stream)];
  if (file.indexed == file.size) return;
  if (!index_) index_ = open_log(dir_fd_, log_name(rank_, "idx"));
  while (index_ && file.indexed < file.size) {
    // A row that could not be written is made up for by the next one, which reaches further back.
    const auto length = std::min<std::int64_t>(file.size - file.indexed, UINT32_MAX);
    const logs::IndexRow row{static_cast<std::uint64_t>(file.indexed),
                             static_cast<std::uint32_t>(length),
                             static_cast<std::uint8_t>(stream),
                             {},
                             static_cast<std::uint64_t>(at.us)};
    const auto put = ::write(index_.get(), &row, sizeof row);
    if (put != sizeof row) {
      // Rows stay aligned whatever the disk does.
      if (put > 0 && ::ftruncate(index_.get(), index_size_) != 0) index_.reset();
      return;
    }
    index_size_ += put;
    file.indexed += length;
  }
}

}  // namespace muster::process
