#include "core/model/pod_lines.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace muster {
namespace {

constexpr std::string_view kLetters = "oes";

struct Head {
  PodLine line;
  std::size_t returns = 0;
  bool goes_on = false;
};

/// A number as we write it: digits, no sign, no zero before others.
template <class T>
bool take_number(std::string_view& text, T& out) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  const auto length = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || (length > 1 && text.front() == '0')) return false;
  text.remove_prefix(length);
  return true;
}

bool take(std::string_view& text, char wanted) {
  if (!text.starts_with(wanted)) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<Head> parse(std::string_view text) {
  Head head;
  if (!take_number(text, head.line.rank)) return std::nullopt;
  const auto letter = text.empty() ? kLetters.npos : kLetters.find(text.front());
  if (letter == kLetters.npos) return std::nullopt;
  head.line.stream = static_cast<PodStream>(letter);
  text.remove_prefix(1);
  if (!take(text, ' ') || !take_number(text, head.line.offset)) return std::nullopt;
  while (take(text, 'r')) ++head.returns;
  head.goes_on = take(text, '-');
  if (!take(text, ' ') || text.ends_with('\r')) return std::nullopt;
  head.line.bytes = text;
  return head;
}

}  // namespace

void PodLineWriter::put(std::string_view bytes, bool ends_line, std::string& out) {
  const auto kept = bytes.find_last_not_of('\r') + 1;  // npos + 1 is 0
  out += fmt::format("{}{} {}", rank_, kLetters[static_cast<std::size_t>(stream_)], offset_);
  out.append(bytes.size() - kept, 'r');
  out += ends_line ? " " : "- ";
  out += bytes.substr(0, kept);
  out += '\n';
  offset_ += bytes.size() + (ends_line ? 1 : 0);
}

void PodLineWriter::write(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    const auto newline = bytes.find('\n');
    const bool has_end = newline != bytes.npos;
    const auto room = kLongest - held_.size();
    const auto some = std::min(has_end ? newline : bytes.size(), room);
    const bool ends_line = has_end && some == newline;
    if (held_.empty() && (ends_line || some == kLongest)) {
      put(bytes.substr(0, some), ends_line, out);  // without a copy
    } else {
      held_ += bytes.substr(0, some);
      if (ends_line || held_.size() == kLongest) {
        put(held_, ends_line, out);
        held_.clear();
      }
    }
    bytes.remove_prefix(some + (ends_line ? 1 : 0));
  }
}

void PodLineWriter::flush(std::string& out) {
  if (held_.empty()) return;
  put(held_, false, out);
  held_.clear();
}

void PodLineReader::line(std::string_view text, const Each& each) {
  const auto head = is_foreign_ ? std::nullopt : parse(text.substr(0, text.size() - 1));
  is_foreign_ = false;
  if (!head) return each({.rank = -1, .bytes = text});
  auto line = head->line;
  if (head->returns == 0) {
    // The log's own newline stands where the rank's did.
    line.bytes = {line.bytes.data(), line.bytes.size() + (head->goes_on ? 0 : 1)};
    return each(line);
  }
  std::string bytes(line.bytes);
  bytes.append(head->returns, '\r');
  if (!head->goes_on) bytes += '\n';
  line.bytes = bytes;
  each(line);
}

void PodLineReader::read(std::string_view bytes, const Each& each) {
  while (!bytes.empty()) {
    const auto newline = bytes.find('\n');
    const auto some =
        std::min(newline == bytes.npos ? bytes.size() : newline + 1, kForeign - held_.size());
    const bool is_whole = newline != bytes.npos && some == newline + 1;
    if (is_whole && held_.empty()) {
      line(bytes.substr(0, some), each);
    } else {
      held_ += bytes.substr(0, some);
      if (is_whole) line(held_, each);
      if (!is_whole && held_.size() == kForeign) {
        each({.rank = -1, .bytes = held_});
        is_foreign_ = true;
      }
      if (is_whole || held_.size() == kForeign) held_.clear();
    }
    bytes.remove_prefix(some);
  }
}

void PodLineReader::finish(const Each& each) {
  if (!held_.empty()) each({.rank = -1, .bytes = held_});
  held_.clear();
  is_foreign_ = false;
}

}  // namespace muster
