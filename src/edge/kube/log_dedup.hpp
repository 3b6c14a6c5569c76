/// Which lines of a log that is read again are new. A server can be asked for lines from a whole
/// second on, so what was already given since then comes again; it is known by its time and by a
/// hash of its text, in its order. Times may go back a little from line to line (two streams are
/// written to one file), so a second more is read again than the last line asks for. Pure; one
/// thread.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::kube {

class LogDedup {
 public:
  /// The log is about to be read again from `since()` on.
  void reconnect() { cursor_ = 0; }
  /// True for a line that has not been given before; it counts as given from now on.
  bool is_new(std::int64_t time, std::string_view text);
  /// The second from which the log has to be read again, as RFC 3339; empty before the first line.
  std::string since() const;

 private:
  struct Given {
    std::int64_t time;
    std::uint64_t hash;
  };
  std::vector<Given> given_;  // since `since()`
  std::size_t cursor_ = 0;    // what comes next again, while a log is read again
  std::int64_t second_ = -1;  // of the last line
};

}  // namespace muster::kube
