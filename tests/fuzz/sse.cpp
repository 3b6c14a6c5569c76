// Server-sent events with any bytes in them: what is written is read back, behind any heartbeat and
// in any pieces; what strangers write is read the same, however it is cut.
#include "edge/http/sse.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/text.hpp"

namespace http = muster::http;

namespace {

std::vector<http::SseEvent> read(std::string_view bytes, std::size_t piece) {
  http::SseReader reader;
  std::vector<http::SseEvent> seen;
  while (!bytes.empty()) {
    auto events = reader.feed(bytes.substr(0, piece));
    if (!events) std::abort();
    for (auto& event : *events) seen.push_back(std::move(event));
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  return seen;
}

std::string text_of(const std::vector<http::SseEvent>& events) {
  std::string text;
  for (const auto& event : events)
    text += fmt::format("{}|{}|{};", event.id, event.event, event.data);
  return text;
}

std::string without(std::string text, std::string_view unwanted) {
  std::erase_if(text, [&](char c) { return unwanted.find(c) != unwanted.npos; });
  return text;
}

/// Every line end as a stream tells it.
std::string with_plain_ends(std::string_view data) {
  std::string out;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] == '\n' && i > 0 && data[i - 1] == '\r') continue;
    out += data[i] == '\r' ? '\n' : data[i];
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || size > 4000) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t piece = 1U + data[0];
  if (text_of(read(bytes, piece)) != text_of(read(bytes, bytes.size()))) std::abort();

  const auto parts = muster::split(bytes, '|');
  http::SseEvent event{.data = std::string(parts.back())};
  if (parts.size() > 1) event.id = parts[0];
  if (parts.size() > 2) event.event = parts[1];
  const auto seen = read(http::sse_heartbeat() + http::to_sse(event), piece);
  if (seen.size() != 1) std::abort();
  if (seen[0].data != with_plain_ends(event.data)) std::abort();
  const std::string_view dropped("\r\n\0", 3);
  if (seen[0].id != without(event.id, dropped)) std::abort();
  if (seen[0].event != without(event.event, dropped)) std::abort();
  return 0;
}
