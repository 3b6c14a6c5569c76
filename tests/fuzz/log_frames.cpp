// A framed log stream of arbitrary bytes: the same frames, however the bytes are cut.
#include "app/cli/log_frames.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

std::string frames(std::string_view bytes, std::size_t piece) {
  muster::LogFrames reader;
  std::string seen;
  const auto on_frame = [&](const muster::LogFrame& frame) {
    if (frame.attempt < 1 || frame.rank < 0) std::abort();
    seen += fmt::format("{} {} {} {}\n", frame.attempt, frame.rank, frame.is_err,
                        std::string(frame.bytes));
  };
  while (!bytes.empty()) {
    if (!reader.feed(bytes.substr(0, piece), on_frame)) return seen + "garbled";
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (frames(bytes, 1U + data[0] % 64) != frames(bytes, bytes.size())) std::abort();
  return 0;
}
