/// Reads what a rank wrote, in arrival order, from its files (docs/reference/home.md): the index
/// tells which stream came when, the streams' own files hold the bytes. Reads while it is written.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/time.hpp"
#include "base/unique_fd.hpp"

namespace muster::logs {

enum class Stream : std::uint8_t { out = 0, err = 1 };

struct Piece {
  Stream stream = Stream::out;
  WallTime at;
  std::string bytes;
};

class RankTail {
 public:
  /// `node_dir` is the attempt's directory on the node; nothing need exist yet.
  RankTail(std::string node_dir, int rank);

  /// The next pieces, about `budget` bytes of them; empty when there is nothing new.
  Result<std::vector<Piece>> read(std::size_t budget);
  /// Goes to where the last `lines` lines begin (bounded: at most 1 MiB of log is looked at).
  Result<> seek_last_lines(std::size_t lines);
  /// True once the index was read to its present end.
  bool is_drained() const { return drained_; }

 private:
  struct Row {
    std::uint64_t offset = 0;
    std::uint32_t length = 0;
    Stream stream = Stream::out;
    WallTime at;
  };
  Result<std::vector<Row>> rows_at(std::uint64_t position, std::size_t count);
  Result<std::string> bytes_of(const Row& row);
  Result<bool> open_index();

  std::string base_;
  UniqueFd index_;
  UniqueFd files_[2];
  std::uint64_t position_ = 0;  // in the index
  std::uint32_t skip_ = 0;      // bytes of the row at position_ to leave out
  bool drained_ = false;
};

/// The same of a plain file, which counts as stdout.
class FileTail {
 public:
  /// Nothing need exist yet.
  explicit FileTail(std::string path) : path_(std::move(path)) {}

  Result<std::vector<Piece>> read(std::size_t budget);
  Result<> seek_last_lines(std::size_t lines);
  bool is_drained() const { return drained_; }

 private:
  Result<bool> open();

  std::string path_;
  UniqueFd file_;
  std::uint64_t position_ = 0;
  bool drained_ = false;
};

constexpr std::size_t kIndexRow = 24;

}  // namespace muster::logs
