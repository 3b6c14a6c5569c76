/// Writes what one rank says into its files, byte for byte: `.out`, `.err` and the index of arrival
/// order. Files appear with their first byte. A disk that refuses never blocks the job: bytes are
/// dropped, counted, and the gap is marked in the stream once writing works again or at the end.
/// Counts and hashes are of the file as written, gap marks included. One thread.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/hash.hpp"
#include "base/time.hpp"
#include "base/unique_fd.hpp"

namespace muster::process {

enum class Stream : std::uint8_t { out = 0, err = 1 };

/// Where what one rank says goes.
struct RankSink {
  virtual ~RankSink() = default;
  virtual void append(Stream stream, std::string_view bytes, WallTime at) = 0;
  /// Nothing more comes.
  virtual void finish(WallTime at) = 0;
  /// After finish(): what is missing without a mark of it, for people; empty when nothing is.
  virtual std::string lost() const = 0;
  /// Of the stream as it was passed on.
  virtual std::int64_t bytes(Stream stream) const = 0;
  virtual std::string xxh3(Stream stream) const = 0;
};

class RankLog final : public RankSink {
 public:
  /// `dir_fd` must outlive it.
  RankLog(int dir_fd, int rank);
  void append(Stream stream, std::string_view bytes, WallTime at) override;
  /// Marks a gap that is still open.
  void finish(WallTime at) override;
  std::string lost() const override;
  std::int64_t bytes(Stream stream) const override { return file_of(stream).size; }
  std::string xxh3(Stream stream) const override { return file_of(stream).hash.hex(); }

 private:
  struct File {
    UniqueFd fd;
    std::int64_t size = 0;
    std::int64_t indexed = 0;  // rows cover the file up to here
    std::int64_t lost = 0;     // bytes dropped since the last gap mark
    int error = 0;             // why
    bool ends_line = true;
    Xxh3 hash;
  };
  const File& file_of(Stream stream) const { return files_[static_cast<std::size_t>(stream)]; }
  bool open(Stream stream);
  /// How many bytes were taken; less than all when the disk refused.
  std::size_t put(File& file, std::string_view bytes);
  bool mark_gap(File& file);
  void index(Stream stream, WallTime at);

  int dir_fd_;
  int rank_;
  std::array<File, 2> files_;
  UniqueFd index_;
  std::int64_t index_size_ = 0;
};

}  // namespace muster::process
