#include "edge/http/sse.hpp"

namespace muster::http {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != '\r' && c != '\n' && c != '\0') out += c;
  return out;
}

void append_data(std::string& text, std::string_view data) {
  for (;;) {
    const auto end = data.find_first_of("\r\n");
    text += "data: ";
    text += data.substr(0, end);
    text += '\n';
    if (end == data.npos) return;
    data.remove_prefix(end + (data.substr(end).starts_with("\r\n") ? 2 : 1));
  }
}

}  // namespace

std::string to_sse(const SseEvent& event) {
  std::string text;
  if (!event.id.empty()) text += "id: " + one_line(event.id) + '\n';
  if (!event.event.empty()) text += "event: " + one_line(event.event) + '\n';
  append_data(text, event.data);
  return text += '\n';
}

std::string sse_heartbeat() { return ":\n\n"; }

Result<std::vector<SseEvent>> SseReader::feed(std::string_view bytes) {
  std::vector<SseEvent> out;
  for (const char c : bytes) {
    const bool completes_crlf = is_after_cr_ && c == '\n';
    is_after_cr_ = c == '\r';
    if (completes_crlf) continue;
    if (c == '\r' || c == '\n')
      end_line(out);
    else
      line_ += c;
    if (line_.size() + event_.data.size() > limit_)
      return fail(Kind::corrupt, fmt::format("an event is larger than {} bytes", limit_));
  }
  return out;
}

void SseReader::end_line(std::vector<SseEvent>& out) {
  std::string line = std::exchange(line_, {});
  if (std::exchange(is_first_line_, false) && line.starts_with(kByteOrderMark)) line.erase(0, 3);
  if (!line.empty()) {
    const auto colon = line.find(':');
    if (colon == 0) return;  // a comment
    std::string_view value =
        colon == line.npos ? std::string_view() : std::string_view(line).substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    return take_field(std::string_view(line).substr(0, colon), value);
  }
  if (has_data_) {
    event_.data.pop_back();  // the line end after the last line
    out.push_back(event_);
  }
  event_.data.clear();
  event_.event.clear();
  has_data_ = false;
}

void SseReader::take_field(std::string_view name, std::string_view value) {
  if (name == "data") {
    event_.data += value;
    event_.data += '\n';
    has_data_ = true;
  } else if (name == "event") {
    event_.event = value;
  } else if (name == "id" && value.find('\0') == value.npos) {
    event_.id = value;
  }
}

}  // namespace muster::http
