#include "app/cli/log_frames.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "base/units.hpp"

namespace muster {
namespace {

constexpr std::size_t kLongestHead = 64;
constexpr std::int64_t kLongestFrame = 64 << 20;

tl::unexpected<Error> garbled() {
  return fail(Kind::corrupt, "the server's log stream is garbled",
              "muster doctor shows which server answers");
}

}  // namespace

Result<> LogFrames::feed(std::string_view bytes,
                         const std::function<void(const LogFrame&)>& on_frame) {
  buffer_ += bytes;
  std::size_t at = 0;
  for (;;) {
    const auto end = buffer_.find('\n', at);
    if (std::min(end, buffer_.size()) - at > kLongestHead) return garbled();
    if (end == std::string::npos) break;
    const auto words = split(std::string_view(buffer_).substr(at, end - at), ' ');
    if (words.size() != 4 || (words[2] != "out" && words[2] != "err")) return garbled();
    TRY(const auto attempt, parse_whole(words[0], 1, INT32_MAX));
    TRY(const auto rank, parse_whole(words[1], 0, INT32_MAX));
    TRY(const auto length, parse_whole(words[3], 0, kLongestFrame));
    const auto size = static_cast<std::size_t>(length);
    if (buffer_.size() - end - 1 < size) break;
    on_frame({static_cast<int>(attempt), static_cast<int>(rank), words[2] == "err",
              std::string_view(buffer_).substr(end + 1, size)});
    at = end + 1 + size;
  }
  buffer_.erase(0, at);
  return {};
}

std::string_view FreshBytes::of(const LogFrame& frame) {
  auto& progress = progress_[{frame.attempt, frame.rank, frame.is_err}];
  const auto known = std::min<std::uint64_t>(
      progress.given - std::min(progress.given, progress.seen), frame.bytes.size());
  progress.seen += frame.bytes.size();
  progress.given += frame.bytes.size() - known;
  return frame.bytes.substr(known);
}

void FreshBytes::rewind() {
  for (auto& [key, progress] : progress_) progress.seen = 0;
}

void OutputCopy::take(const LogFrame& frame) {
  const auto bytes = fresh_.of(frame);
  auto& out = frame.is_err ? *context_.err : *context_.out;
  if (ranks_ <= 1) return out.write(bytes);
  bool& is_inside = is_inside_line_[{frame.attempt, frame.rank, frame.is_err}];
  std::string text;
  for (const char c : bytes) {
    if (!is_inside) text += fmt::format("[{}] ", frame.rank);
    text += c;
    is_inside = c != '\n';
  }
  out.write(text);
}

}  // namespace muster
