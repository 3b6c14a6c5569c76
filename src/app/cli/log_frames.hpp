/// The framed log stream: "ATTEMPT RANK STREAM LENGTH\n" + bytes, read piece by piece. And the copy
/// of it to this process's own output.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "app/cli/context.hpp"

namespace muster {

struct LogFrame {
  int attempt = 0;
  int rank = 0;
  bool is_err = false;
  std::string_view bytes;
};

class LogFrames {
 public:
  Result<> feed(std::string_view bytes, const std::function<void(const LogFrame&)>& on_frame);

 private:
  std::string buffer_;
};

/// Which bytes of a frame are new, when a stream is read again from its beginning.
class FreshBytes {
 public:
  std::string_view of(const LogFrame& frame);
  /// A new stream begins.
  void rewind();

 private:
  struct Progress {
    std::uint64_t given = 0;  // bytes of this stream that were new once
    std::uint64_t seen = 0;   // of the stream being read now
  };
  std::map<std::tuple<int, int, bool>, Progress> progress_;
};

/// Writes frames to stdout and stderr. With one rank the bytes are exact; with several, lines carry
/// their rank. Bytes already written are left out when a stream is read again.
class OutputCopy {
 public:
  explicit OutputCopy(Context& context) : context_(context) {}
  /// How many ranks there are; more than one adds "[rank] ".
  void set_ranks(int ranks) { ranks_ = ranks; }
  void take(const LogFrame& frame);
  void rewind() { fresh_.rewind(); }

 private:
  Context& context_;
  int ranks_ = 1;
  FreshBytes fresh_;
  std::map<std::tuple<int, int, bool>, bool> is_inside_line_;
};

}  // namespace muster
