// A pod's log of arbitrary bytes: the same lines however it is cut, and no byte of foreign ones is
// lost. The same bytes as a rank's output come back exactly.
#include "core/model/pod_lines.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <fmt/core.h>

namespace {

struct Seen {
  std::string ours;
  std::string foreign;
  auto operator<=>(const Seen&) const = default;
};

Seen read(std::string_view log, std::size_t piece) {
  Seen seen;
  muster::PodLineReader reader;
  const auto each = [&](const muster::PodLine& line) {
    if (line.rank < 0)
      seen.foreign += line.bytes;
    else
      seen.ours += fmt::format("{} {} {} {} ", line.rank, static_cast<int>(line.stream),
                               line.offset, line.bytes.size()) +
                   std::string(line.bytes);
  };
  for (; !log.empty(); log.remove_prefix(std::min(piece, log.size())))
    reader.read(log.substr(0, piece), each);
  reader.finish(each);
  return seen;
}

void write_and_read(std::string_view bytes, std::size_t piece) {
  muster::PodLineWriter writer(7, muster::PodStream::err);
  std::string log, back;
  for (auto left = bytes; !left.empty(); left.remove_prefix(std::min(piece, left.size()))) {
    writer.write(left.substr(0, piece), log);
    if (left.size() % 3 == 0) writer.flush(log);
  }
  writer.flush(log);
  muster::PodLineReader reader;
  reader.read(log, [&](const muster::PodLine& line) {
    if (line.rank != 7 || line.offset != back.size()) std::abort();
    back += line.bytes;
  });
  if (back != bytes || log.find("\r\n") != log.npos) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t piece = 1U + data[0] % 64;
  if (read(bytes, piece) != read(bytes, bytes.size())) std::abort();
  write_and_read(bytes, piece);
  return 0;
}
