/// What ranks in a pod write, as lines of the pod's one log, and back again. A line is
/// `<rank><o|e|s> <offset>[r...][-] <bytes>`: the stream is stdout, stderr or the node's set-up,
/// the offset is that of the first byte in its stream. `-`: the rank's line goes on, no newline
/// follows the bytes. Each `r` is a carriage return behind them: container runtimes drop the one
/// before a newline, so no line of ours ends with it. Pure; one thread.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace muster {

enum class PodStream : std::uint8_t { out = 0, err = 1, setup = 2 };

/// Bytes of one rank's stream. Rank -1: the bytes are a line that is none of ours (the runtime's
/// words, or the agent's own), with its newline; they have no offset.
struct PodLine {
  int rank = 0;
  PodStream stream = PodStream::out;
  std::uint64_t offset = 0;
  std::string_view bytes;  // with the newline where the line ends; good during the call
};

/// One stream of one rank on its way out. Whole lines leave at once, and the beginning of one when
/// it is longer than kLongest; the rest is held until its newline, or until flush().
class PodLineWriter {
 public:
  static constexpr std::size_t kLongest = 8192;
  PodLineWriter(int rank, PodStream stream) : rank_(rank), stream_(stream) {}
  /// Adds lines to `out`.
  void write(std::string_view bytes, std::string& out);
  /// What is held leaves, as a line that goes on.
  void flush(std::string& out);
  bool is_holding() const { return !held_.empty(); }
  /// Bytes taken so far.
  std::uint64_t taken() const { return offset_ + held_.size(); }

 private:
  void put(std::string_view bytes, bool ends_line, std::string& out);
  int rank_;
  PodStream stream_;
  std::uint64_t offset_ = 0;  // of the first byte that is held
  std::string held_;
};

/// The pod's log read piece by piece, cut anywhere. Nothing is lost: what is no line of ours is
/// given as it is. Memory is bounded: a foreign line is given in pieces of at most kForeign bytes.
class PodLineReader {
 public:
  using Each = std::function<void(const PodLine&)>;
  static constexpr std::size_t kForeign = 64U << 10;
  void read(std::string_view bytes, const Each& each);
  /// The log has ended: what has no newline is foreign, since it may be cut.
  void finish(const Each& each);

 private:
  void line(std::string_view text, const Each& each);
  std::string held_;
  bool is_foreign_ = false;  // the line being read was given in part already
};

}  // namespace muster
