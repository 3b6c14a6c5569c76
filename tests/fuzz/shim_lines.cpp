// Any line between a server and a shim, and any content of the two records: read or refused, and
// the same when written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/text.hpp"
#include "core/model/codec.hpp"
#include "edge/process/attempt_dir.hpp"
#include "edge/process/lines.hpp"

namespace process = muster::process;

namespace {

void lines(std::string_view text) {
  // Words the program says itself are plain; others come in but never go out.
  if (const auto said = process::parse_said(text); said && muster::is_utf8(said->say)) {
    const auto line = process::to_line(*said);
    const auto again = process::parse_said(line);
    if (line.find('\n') != line.npos || !again || process::to_line(*again) != line) std::abort();
  }
  if (const auto asked = process::parse_asked(text);
      asked && muster::is_utf8(asked->what) && muster::is_utf8(asked->why)) {
    const auto line = process::to_line(*asked);
    const auto again = process::parse_asked(line);
    if (line.find('\n') != line.npos || !again || process::to_line(*again) != line) std::abort();
  }
}

void records(std::string_view text) {
  if (const auto mark = process::parse_mark(text)) {
    const auto written = process::to_json(*mark);
    const auto again = process::parse_mark(written);
    if (!again || process::to_json(*again) != written) std::abort();
  }
  if (const auto record = muster::decode_exit_record(text)) {
    const auto again = muster::decode_exit_record(process::exit_text(*record, 1, 2));
    if (!again || muster::encode(*again) != muster::encode(*record)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  lines(text);
  records(text);
  return 0;
}
