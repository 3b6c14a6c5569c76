#include "edge/process/lines.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>

#include "core/model/codec.hpp"
#include "core/model/json.hpp"

namespace muster::process {
namespace {

/// A century: deadlines are sums, and must not overflow.
constexpr std::int64_t kLongestGraceUs = 100LL * 366 * 86'400'000'000;
/// A peer that sends more without a newline, or takes nothing for this long, is broken.
constexpr std::size_t kMaxQueued = 16 << 20;

Result<json::object> object_of(std::string_view line) {
  TRY(auto value, parse_json(line));
  if (!value.is_object()) return fail(Kind::corrupt, "a line is not an object");
  return std::move(value.get_object());
}

std::string text_in(const json::object& object, std::string_view name) {
  const auto* value = field(object, name);
  if (value == nullptr) return {};
  return bytes_from_json(*value).value_or(std::string());
}

std::int64_t number_in(const json::object& object, std::string_view name, std::int64_t otherwise) {
  const auto* value = field(object, name);
  return value != nullptr && value->is_int64() ? value->get_int64() : otherwise;
}

}  // namespace

std::string to_line(const Said& said) {
  json::object out{{"v", kShimProtocol}, {"say", said.say}};
  if (said.rank >= 0) out["rank"] = said.rank;
  if (!said.asked.empty()) out["do"] = bytes_to_json(said.asked);
  if (!said.why.empty()) out["why"] = bytes_to_json(said.why);
  auto line = json::serialize(out);
  if (said.record) {
    line.pop_back();
    line += fmt::format(",\"record\":{}}}", encode(*said.record));
  }
  return line;
}

std::string to_line(const Asked& asked) {
  json::object out{{"v", kShimProtocol}, {"do", asked.what}};
  if (asked.what == "stop") {
    out["why"] = asked.why;
    out["grace_us"] = std::int64_t{asked.grace.count()};
  }
  if (asked.what == "signal") out["signal"] = asked.signal;
  return json::serialize(out);
}

Result<Said> parse_said(std::string_view line) {
  TRY(const auto in, object_of(line));
  Said said{.say = text_in(in, "say"),
            .rank = static_cast<int>(number_in(in, "rank", -1)),
            .record = {},
            .why = text_in(in, "why"),
            .asked = text_in(in, "do")};
  if (const auto* record = field(in, "record")) {
    TRY(said.record, decode_exit_record(json::serialize(*record)));
  }
  return said;
}

Result<Asked> parse_asked(std::string_view line) {
  TRY(const auto in, object_of(line));
  return Asked{
      .what = text_in(in, "do"),
      .why = text_in(in, "why"),
      .grace = Duration(std::clamp<std::int64_t>(number_in(in, "grace_us", 0), 0, kLongestGraceUs)),
      .signal = static_cast<int>(number_in(in, "signal", 0))};
}

LineChannel::LineChannel(UniqueFd fd) : fd_(std::move(fd)) {
  const int flags = ::fcntl(fd_.get(), F_GETFL);
  ::fcntl(fd_.get(), F_SETFL, flags | O_NONBLOCK);
}

void LineChannel::close() {
  fd_.reset();
  in_.clear();
  out_.clear();
}

void LineChannel::send(std::string_view line) {
  if (!is_open()) return;
  out_ += line;
  out_ += '\n';
  flush();
}

void LineChannel::flush() {
  while (!out_.empty()) {
    const auto put = ::send(fd_.get(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN && out_.size() < kMaxQueued) return;
    if (put < 0) {
      // What the peer had said before it went is still to be read: receive() finds the end.
      out_.clear();
      return;
    }
    out_.erase(0, static_cast<std::size_t>(put));
  }
}

std::vector<std::string> LineChannel::receive() {
  std::vector<std::string> lines;
  char piece[16384];
  bool ended = false;
  while (is_open() && !ended) {
    const auto got = ::recv(fd_.get(), piece, sizeof piece, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    if (got <= 0)
      ended = true;
    else
      in_.append(piece, static_cast<std::size_t>(got));
    ended = ended || in_.size() > kMaxQueued;
  }
  std::size_t from = 0;
  for (std::size_t end; (end = in_.find('\n', from)) != std::string::npos; from = end + 1)
    lines.push_back(in_.substr(from, end - from));
  in_.erase(0, from);
  if (ended) close();
  return lines;
}

}  // namespace muster::process
