// Answers and server-sent events from arbitrary bytes: the same, however they are cut. (An error
// may come sooner or later, and so be of one kind or another.)
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "edge/http/error_body.hpp"
#include "edge/http/reader.hpp"
#include "edge/http/sse.hpp"

namespace {

std::string answer(std::string_view bytes, std::size_t piece) {
  muster::http::ResponseReader reader({.header = 4096, .body = 4096},
                                      muster::http::BodyRule::present);
  std::string body;
  while (!bytes.empty()) {
    if (!reader.feed(bytes.substr(0, piece))) return "failed";
    bytes.remove_prefix(std::min(piece, bytes.size()));
    if (reader.has_head()) body += reader.take_body();
  }
  if (!reader.finish()) return "failed";
  (void)muster::http::error_of(reader.status(), body);
  return std::to_string(reader.status()) + body;
}

std::string events(std::string_view bytes, std::size_t piece) {
  muster::http::SseReader reader(4096);
  std::string seen;
  while (!bytes.empty()) {
    const auto read = reader.feed(bytes.substr(0, piece));
    if (!read) return "refused";
    for (const auto& event : *read) seen += muster::http::to_sse(event);
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || size > 3000) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t piece = 1U + data[0];
  if (answer(bytes, piece) != answer(bytes, bytes.size())) std::abort();
  if (events(bytes, piece) != events(bytes, bytes.size())) std::abort();
  return 0;
}
