// The small parsers over any bytes: durations, sizes, cpus, times, base64, hex, percent escapes,
// and the texts that are safe to print.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/text.hpp"
#include "base/time.hpp"
#include "base/units.hpp"
#include "edge/http/message.hpp"

namespace {

using namespace muster;

void expect(bool is_so) {
  if (!is_so) std::abort();
}

void amounts(std::string_view text) {
  if (const auto duration = parse_duration(text)) {
    expect(duration->count() >= 0);
    (void)to_text(*duration);
    expect(parse_duration(fmt::format("{}us", duration->count())) == *duration);
  }
  if (const auto bytes = parse_bytes(text)) {
    expect(bytes->count >= 0);
    (void)to_text(*bytes);
    expect(parse_bytes(fmt::format("{}", bytes->count)) == *bytes);
  }
  if (const auto cpus = parse_cpus(text)) {
    expect(cpus->count >= 0);
    (void)to_text(*cpus);
    expect(parse_cpus(fmt::format("{}m", cpus->count)) == *cpus);
  }
  if (const auto whole = parse_whole(text, -7, 1'000'000)) expect(*whole >= -7);
  if (const auto time = parse_rfc3339(text)) expect(parse_rfc3339(to_rfc3339(*time)) == *time);
}

void codes(std::string_view text) {
  expect(from_base64(to_base64(text)) == std::string(text));
  expect(from_hex(to_hex(text)) == std::string(text));
  expect(http::percent_decoded(http::percent_encoded(text)) == std::string(text));
  if (const auto bytes = from_base64(text)) expect(from_base64(to_base64(*bytes)) == *bytes);
  (void)from_hex(text);
  (void)http::percent_decoded(text);
  (void)http::parse_target(text);
}

void texts(std::string_view text) {
  const auto safe = printable(text);
  expect(is_utf8(safe) && printable(safe) == safe);
  expect(std::none_of(safe.begin(), safe.end(), [](char c) { return c == '\n' || c == '\x1b'; }));
  const auto width = text.empty() ? 0U : static_cast<unsigned char>(text.front()) % 100U;
  expect(columns_of(clipped(safe, width)) <= width);
  (void)clipped(text, width);
  if (is_utf8(text)) expect(columns_of(text) <= text.size());
  const auto word = text.substr(0, 40);
  const std::vector<std::string> candidates{"submit", "query", std::string(trimmed(word))};
  (void)nearest(word, candidates);
  expect(edit_distance(word, word) == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  amounts(text);
  codes(text);
  texts(text);
  return 0;
}
