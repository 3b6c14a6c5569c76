/// The words between a server and a shim: one JSON object a line, both ways (docs/design/0001).
/// A reader skips fields it does not know. Used by one thread at a time.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "core/model/exit_record.hpp"

namespace muster::process {

constexpr int kShimProtocol = 1;

/// From the shim.
struct Said {
  std::string say;  // preparing, running, rank_failed, ended, refused, done, unsupported
  int rank = -1;
  std::optional<ExitRecord> record;
  std::string why;
  std::string asked;  // "do" on the wire: what done or unsupported answers
};
/// To the shim.
struct Asked {
  std::string what;  // "do" on the wire: stop, signal, ack
  std::string why;
  Duration grace{0};
  int signal = 0;
};

std::string to_line(const Said& said);
std::string to_line(const Asked& asked);
Result<Said> parse_said(std::string_view line);
Result<Asked> parse_asked(std::string_view line);

/// A stream socket, non-blocking, cut into lines.
class LineChannel {
 public:
  LineChannel() = default;
  explicit LineChannel(UniqueFd fd);

  bool is_open() const { return static_cast<bool>(fd_); }
  int fd() const { return fd_.get(); }
  bool wants_to_write() const { return is_open() && !out_.empty(); }
  /// Queues a line and sends what the peer takes now; closes when the peer is gone.
  void send(std::string_view line);
  /// Sends more of what is queued.
  void flush();
  /// Lines that have arrived. At the end of the stream the channel is closed.
  std::vector<std::string> receive();
  void close();

 private:
  UniqueFd fd_;
  std::string in_;
  std::string out_;
};

}  // namespace muster::process
