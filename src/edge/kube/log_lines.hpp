/// The bytes of a log with timestamps, taken apart into lines. A line that is too long is given in
/// pieces, which are the same each time it is read. Pure; one thread.
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace muster::kube {

struct RawLogLine {
  std::string_view time;  // empty where the line does not begin with one
  std::string_view text;
  bool has_newline = true;
};

class LogLines {
 public:
  /// False stops.
  using OnLine = std::function<bool(const RawLogLine& line)>;
  static constexpr std::size_t kLongest = 1U << 20;

  explicit LogLines(std::size_t longest = kLongest) : longest_(longest) {}
  bool feed(std::string_view bytes, const OnLine& on_line);
  /// The rest of a log that ends without a newline.
  bool finish(const OnLine& on_line);

 private:
  bool give(bool has_newline, const OnLine& on_line);

  std::size_t longest_;
  std::string line_;
  std::string time_;  // of a line that is given in pieces
  bool is_piece_ = false;
};

}  // namespace muster::kube
