#include "edge/logs/tail.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "edge/logs/index_row.hpp"

namespace muster::logs {
namespace {

constexpr std::size_t kRowsAtOnce = 512;
constexpr std::size_t kTailBytes = 1U << 20;
constexpr std::uint32_t kLongestRow = 16U << 20;

/// Up to `count` bytes; fewer at the end of the file. A damaged index may claim much more than
/// there is: room is made as the bytes come.
Result<std::string> read_at(int fd, std::uint64_t offset, std::size_t count) {
  constexpr std::size_t kStep = 64U << 10;
  std::string bytes;
  while (bytes.size() < count) {
    const std::size_t had = bytes.size();
    bytes.resize(std::min(count, had + kStep));
    const auto n =
        ::pread(fd, bytes.data() + had, bytes.size() - had, static_cast<off_t>(offset + had));
    bytes.resize(had + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("cannot read a log", errno);
    if (n == 0) break;
  }
  return bytes;
}

}  // namespace

RankTail::RankTail(std::string node_dir, int rank)
    : base_(fmt::format("{}/rank-{:05}", node_dir, rank)) {}

Result<bool> RankTail::open_index() {
  if (index_) return true;
  index_.reset(::open((base_ + ".idx").c_str(), O_RDONLY | O_CLOEXEC));
  if (index_) return true;
  if (errno == ENOENT) return false;
  return fail_errno(fmt::format("cannot open {}.idx", base_), errno);
}

Result<std::vector<RankTail::Row>> RankTail::rows_at(std::uint64_t position, std::size_t count) {
  TRY(const auto bytes, read_at(index_.get(), position, count * kIndexRow));
  std::vector<Row> rows;
  for (std::size_t at = 0; at + kIndexRow <= bytes.size(); at += kIndexRow) {
    IndexRow row;
    std::memcpy(&row, bytes.data() + at, sizeof row);
    rows.push_back({.offset = row.offset,
                    .length = row.length,
                    .stream = row.stream == 0 ? Stream::out : Stream::err,
                    .at = {static_cast<std::int64_t>(row.wall_us)}});
    if (rows.back().length > kLongestRow)
      return fail(Kind::corrupt, fmt::format("{}.idx is damaged at byte {}", base_, position + at));
  }
  return rows;
}

Result<std::string> RankTail::bytes_of(const Row& row) {
  auto& file = files_[static_cast<int>(row.stream)];
  if (!file) {
    const std::string path = base_ + (row.stream == Stream::out ? ".out" : ".err");
    file.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return fail_errno(fmt::format("cannot open {}", path), errno);
  }
  return read_at(file.get(), row.offset, row.length);
}

Result<std::vector<Piece>> RankTail::read(std::size_t budget) {
  std::vector<Piece> pieces;
  drained_ = true;
  TRY(const bool is_there, open_index());
  if (!is_there) return pieces;
  std::size_t taken = 0;
  for (;;) {
    TRY(const auto rows, rows_at(position_, kRowsAtOnce));
    for (const auto& row : rows) {
      if (taken >= budget) {
        drained_ = false;
        return pieces;
      }
      TRY(auto bytes, bytes_of(row));
      bytes.erase(0, std::min<std::size_t>(skip_, bytes.size()));
      skip_ = 0;
      position_ += kIndexRow;
      taken += bytes.size();
      // Neighbours of one stream go out together: fewer, larger pieces.
      if (!pieces.empty() && pieces.back().stream == row.stream)
        pieces.back().bytes += bytes;
      else
        pieces.push_back({row.stream, row.at, std::move(bytes)});
    }
    if (rows.size() < kRowsAtOnce) return pieces;
  }
}

Result<> RankTail::seek_last_lines(std::size_t lines) {
  TRY(const bool is_there, open_index());
  if (!is_there) return {};
  struct stat status{};
  if (::fstat(index_.get(), &status) != 0)
    return fail_errno(fmt::format("cannot stat {}.idx", base_), errno);
  std::uint64_t row_at = static_cast<std::uint64_t>(status.st_size) / kIndexRow * kIndexRow;
  std::size_t seen_bytes = 0, seen_lines = 0;
  bool is_last = true;
  while (row_at > 0 && seen_bytes < kTailBytes) {
    row_at -= kIndexRow;
    TRY(const auto rows, rows_at(row_at, 1));
    if (rows.empty()) break;
    TRY(const auto bytes, bytes_of(rows.front()));
    seen_bytes += bytes.size();
    for (std::size_t i = bytes.size(); i-- > 0;) {
      const bool is_line_end = bytes[i] == '\n' && !is_last;
      is_last = false;
      if (!is_line_end || ++seen_lines < lines) continue;
      position_ = row_at;
      skip_ = static_cast<std::uint32_t>(i + 1);
      return {};
    }
  }
  position_ = row_at;
  return {};
}

Result<bool> FileTail::open() {
  if (file_) return true;
  file_.reset(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file_) return true;
  if (errno == ENOENT) return false;
  return fail_errno(fmt::format("cannot open {}", path_), errno);
}

Result<std::vector<Piece>> FileTail::read(std::size_t budget) {
  std::vector<Piece> pieces;
  drained_ = true;
  TRY(const bool is_there, open());
  if (!is_there) return pieces;
  TRY(auto bytes, read_at(file_.get(), position_, budget));
  drained_ = bytes.size() < budget;
  position_ += bytes.size();
  if (!bytes.empty())
    pieces.push_back({.stream = Stream::out, .at = {}, .bytes = std::move(bytes)});
  return pieces;
}

Result<> FileTail::seek_last_lines(std::size_t lines) {
  TRY(const bool is_there, open());
  if (!is_there) return {};
  struct stat status{};
  if (::fstat(file_.get(), &status) != 0)
    return fail_errno(fmt::format("cannot stat {}", path_), errno);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const auto from = size - std::min<std::uint64_t>(size, kTailBytes);
  TRY(const auto bytes, read_at(file_.get(), from, kTailBytes));
  auto at = bytes.size();
  if (bytes.ends_with('\n') && lines > 0) --at;  // the end of the last line, not of one before it
  for (std::size_t seen = 0; at > 0; --at)
    if (lines == 0 || (bytes[at - 1] == '\n' && ++seen == lines)) break;
  position_ = from + at;
  return {};
}

}  // namespace muster::logs
