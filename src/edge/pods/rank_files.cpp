#include "edge/pods/rank_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.hpp"
#include "edge/fs/files.hpp"
#include "edge/logs/index_row.hpp"
#include "edge/process/attempt_dir.hpp"

namespace muster::pods {
namespace {

UniqueFd open_at(int dir, const std::string& name) {
  return UniqueFd(::openat(dir, name.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
}

std::int64_t size_of(int fd) {
  struct stat status{};
  return fd >= 0 && ::fstat(fd, &status) == 0 ? status.st_size : 0;
}

bool put_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

const char* suffix_of(PodStream stream) { return stream == PodStream::err ? "err" : "out"; }

}  // namespace

/// One stream of one rank. A gap's mark is in the file but not in the stream; `gaps` tells by how
/// much the two differ, and is written before the mark.
struct RankFiles::File {
  UniqueFd fd;
  UniqueFd gaps;
  std::int64_t size = 0;    // of the file
  std::int64_t offset = 0;  // reached in the stream
};

struct RankFiles::Files {
  UniqueFd dir;
  RankRange ranks;
  std::map<std::pair<int, PodStream>, File> files;
  std::map<int, UniqueFd> indexes;
  UniqueFd setup;
  std::int64_t setup_offset = 0;

  File& file(int rank, PodStream stream);
  void append(int rank, PodStream stream, std::string_view bytes, WallTime at);
  void mark_gap(int rank, PodStream stream, std::int64_t missing, WallTime at);
  void take_setup(const PodLine& line);
};

namespace {

/// Each line: "<where in the file> <length of the mark> <missing bytes>". The last one counts only
/// if its mark was written.
std::int64_t stream_offset(int gaps, std::int64_t size) {
  std::string text(static_cast<std::size_t>(std::min<std::int64_t>(size_of(gaps), 1 << 20)), '\0');
  const auto got = ::pread(gaps, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  std::int64_t offset = size;
  for (const auto& line : split(text, '\n')) {
    const auto parts = split(line, ' ');
    if (parts.size() != 3) continue;
    const auto at = parse_whole(parts[0], 0, INT64_MAX);
    const auto mark = parse_whole(parts[1], 0, INT64_MAX);
    const auto missing = parse_whole(parts[2], 0, INT64_MAX);
    if (at && mark && missing && *at + *mark <= size) offset += *missing - *mark;
  }
  return offset;
}

}  // namespace

RankFiles::File& RankFiles::Files::file(int rank, PodStream stream) {
  const auto [at, is_new] = files.try_emplace({rank, stream});
  auto& file = at->second;
  if (!is_new) return file;
  const auto name = process::log_name(rank, suffix_of(stream));
  file.fd = open_at(dir.get(), name);
  file.gaps = UniqueFd(::openat(dir.get(), (name + ".gaps").c_str(), O_RDONLY | O_CLOEXEC));
  file.size = size_of(file.fd.get());
  file.offset = file.gaps ? stream_offset(file.gaps.get(), file.size) : file.size;
  file.gaps.reset();
  return file;
}

void RankFiles::Files::append(int rank, PodStream stream, std::string_view bytes, WallTime at) {
  auto& one = file(rank, stream);
  if (!one.fd || !put_all(one.fd.get(), bytes)) return;
  auto& index = indexes[rank];
  if (!index) index = open_at(dir.get(), process::log_name(rank, "idx"));
  const logs::IndexRow row{static_cast<std::uint64_t>(one.size),
                           static_cast<std::uint32_t>(bytes.size()),
                           static_cast<std::uint8_t>(stream == PodStream::err ? 1 : 0),
                           {},
                           static_cast<std::uint64_t>(at.us)};
  (void)put_all(index.get(), {reinterpret_cast<const char*>(&row), sizeof row});
  one.size += static_cast<std::int64_t>(bytes.size());
}

void RankFiles::Files::mark_gap(int rank, PodStream stream, std::int64_t missing, WallTime at) {
  auto& one = file(rank, stream);
  const auto mark =
      fmt::format("[muster: {} bytes lost: the cluster no longer had them]\n", missing);
  const auto name = process::log_name(rank, suffix_of(stream)) + ".gaps";
  const auto gaps = open_at(dir.get(), name);
  (void)put_all(gaps.get(), fmt::format("{} {} {}\n", one.size, mark.size(), missing));
  append(rank, stream, mark, at);
  one.offset += missing;
}

void RankFiles::Files::take_setup(const PodLine& line) {
  if (!setup) {
    setup = open_at(dir.get(), "setup.log");
    setup_offset = size_of(setup.get());
  }
  const auto have = setup_offset - static_cast<std::int64_t>(line.offset);
  if (have < 0 || have >= std::ssize(line.bytes)) return;
  const auto fresh = line.bytes.substr(static_cast<std::size_t>(have));
  if (put_all(setup.get(), fresh)) setup_offset += std::ssize(fresh);
}

RankFiles::RankFiles(std::unique_ptr<Files> files) : files_(std::move(files)) {}
RankFiles::RankFiles(RankFiles&&) noexcept = default;
RankFiles& RankFiles::operator=(RankFiles&&) noexcept = default;
RankFiles::~RankFiles() = default;

Result<RankFiles> RankFiles::open(const std::string& dir, RankRange ranks) {
  TRY_VOID(fs::make_dirs(dir));
  auto files = std::make_unique<Files>();
  files->ranks = ranks;
  files->dir = UniqueFd(::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!files->dir) return fail_errno(fmt::format("open {}", dir), errno);
  return RankFiles(std::move(files));
}

void RankFiles::take(const PodLine& line, WallTime at) {
  if (line.rank < 0) return;  // the runtime's own words: no rank said them
  if (line.stream == PodStream::setup) return files_->take_setup(line);
  if (!files_->ranks.holds(line.rank)) return;
  auto& file = files_->file(line.rank, line.stream);
  const auto start = static_cast<std::int64_t>(line.offset);
  if (start > file.offset) files_->mark_gap(line.rank, line.stream, start - file.offset, at);
  const auto have = file.offset - start;
  if (have >= std::ssize(line.bytes)) return;
  const auto fresh = line.bytes.substr(static_cast<std::size_t>(have));
  files_->append(line.rank, line.stream, fresh, at);
  file.offset += std::ssize(fresh);
}

void RankFiles::finish(const ExitRecord& record, WallTime at) {
  for (const auto& rank : record.ranks)
    for (const auto& [stream, bytes] :
         {std::pair(PodStream::out, rank.out_bytes), std::pair(PodStream::err, rank.err_bytes)})
      if (bytes > 0 && files_->ranks.holds(rank.rank) &&
          bytes > files_->file(rank.rank, stream).offset)
        files_->mark_gap(rank.rank, stream, bytes - files_->file(rank.rank, stream).offset, at);
}

bool RankFiles::has_all(const ExitRecord& record) {
  return std::all_of(record.ranks.begin(), record.ranks.end(), [&](const auto& rank) {
    if (!files_->ranks.holds(rank.rank)) return true;
    const auto has = [&](PodStream stream, std::int64_t bytes) {
      return bytes == 0 || files_->file(rank.rank, stream).offset >= bytes;
    };
    return has(PodStream::out, rank.out_bytes) && has(PodStream::err, rank.err_bytes);
  });
}

}  // namespace muster::pods
