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

/// Writes frames to stdout and stderr. With one rank the bytes are exact; with several, lines carry
/// their rank. Bytes already written are left out when a stream is read again.
class OutputCopy {
 public:
  explicit OutputCopy(Context& context) : context_(context) {}
  /// How many ranks there are; more than one adds "[rank] ".
  void set_ranks(int ranks) { ranks_ = ranks; }
  void take(const LogFrame& frame);
  void rewind();

 private:
  using Key = std::tuple<int, int, bool>;
  struct Progress {
    std::uint64_t written = 0;  // bytes of this stream that reached the output
    std::uint64_t seen = 0;     // of the stream being read now
    bool at_line_start = true;
  };
  void write(const Key& key, Progress& progress, std::string_view bytes);

  Context& context_;
  int ranks_ = 1;
  std::map<Key, Progress> progress_;
};

}  // namespace muster
