/// Server-sent events: their text, and an incremental reader of it. Pure; one thread.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace muster::http {

struct SseEvent {
  std::string id;     // reading: the last id the stream gave, as the standard has it
  std::string event;  // empty: a plain message
  std::string data;
};

/// The event's lines and the empty line that ends it. Line ends within data become lines; an id or
/// a name cannot hold any, they are dropped.
std::string to_sse(const SseEvent& event);
/// Readers ignore it; it shows that the server lives, and finds out whether the reader does.
std::string sse_heartbeat();

class SseReader {
 public:
  /// The events that became whole. An event of more than `limit` bytes is an error.
  explicit SseReader(std::size_t limit = 16 * 1024 * 1024) : limit_(limit) {}
  Result<std::vector<SseEvent>> feed(std::string_view bytes);

 private:
  void end_line(std::vector<SseEvent>& out);
  void take_field(std::string_view name, std::string_view value);

  std::size_t limit_;
  std::string line_;
  SseEvent event_;
  bool has_data_ = false;
  bool is_after_cr_ = false;
  bool is_first_line_ = true;
};

}  // namespace muster::http
