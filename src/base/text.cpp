#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace muster {
namespace {

/// The length of the valid UTF-8 sequence at `at`, or 0. Rejects overlong forms and surrogates.
std::size_t utf8_length(std::string_view bytes, std::size_t at, char32_t& point) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[at + i]); };
  const unsigned char lead = byte(0);
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xC2 ? 0
                             : lead < 0xE0 ? 2
                             : lead < 0xF0 ? 3
                             : lead < 0xF5 ? 4
                                           : 0;
  if (length == 0 || at + length > bytes.size()) return 0;
  point = length == 1 ? lead : length == 2 ? lead & 0x1F : length == 3 ? lead & 0x0F : lead & 0x07;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    point = (point << 6) | (byte(i) & 0x3F);
  }
  const bool overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  return overlong || surrogate || point > 0x10FFFF ? 0 : length;
}

bool is_unsafe(char32_t point) {
  const bool control = point < 0x20 || (point >= 0x7F && point <= 0x9F);
  const bool bidi = (point >= 0x202A && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069) ||
                    point == 0x200E || point == 0x200F || point == 0x061C;
  const bool separator = point == 0x2028 || point == 0x2029 || point == 0xFEFF;
  return control || bidi || separator;
}

bool is_plain_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%^";
  return !word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos;
}

std::string quoted_word(const std::string& word) {
  if (is_plain_word(word)) return word;
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

bool is_utf8(std::string_view bytes) {
  char32_t point = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = utf8_length(bytes, at, point);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string printable(std::string_view bytes) {
  const auto is_plain = [](char byte) { return byte >= ' ' && byte <= '~'; };
  if (std::all_of(bytes.begin(), bytes.end(), is_plain)) return std::string(bytes);
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    char32_t point = 0;
    const std::size_t length = utf8_length(bytes, at, point);
    if (length == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(bytes[at++]));
    } else if (is_unsafe(point)) {
      if (point == '\n')
        out += "\\n";
      else if (point == '\t')
        out += "\\t";
      else if (point < 0x100)
        out += fmt::format("\\x{:02x}", static_cast<std::uint32_t>(point));
      else
        out += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(point));
      at += length;
    } else {
      out += bytes.substr(at, length);
      at += length;
    }
  }
  return out;
}

std::string shell_quoted(std::span<const std::string> argv) {
  std::string out;
  for (const auto& word : argv) {
    if (!out.empty()) out += ' ';
    out += quoted_word(word);
  }
  return out;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) out += separator;
    out += parts[i];
  }
  return out;
}

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string clipped(std::string_view text, std::size_t width) {
  if (columns_of(text) <= width) return std::string(text);
  std::size_t at = 0;
  for (std::size_t column = 0; at < text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) continue;
    if (column++ + 1 >= width) break;
  }
  return width == 0 ? std::string() : std::string(text.substr(0, at)) + "…";
}

std::string to_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t k) {
      return i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U;
    };
    const std::uint32_t group = (byte(0) << 16) | (byte(1) << 8) | byte(2);
    out += kBase64[group >> 18];
    out += kBase64[(group >> 12) & 63];
    out += i + 1 < bytes.size() ? kBase64[(group >> 6) & 63] : '=';
    out += i + 2 < bytes.size() ? kBase64[group & 63] : '=';
  }
  return out;
}

Result<std::string> from_base64(std::string_view text) {
  std::string out;
  std::uint32_t group = 0;
  std::size_t digits = 0;
  std::size_t padding = 0;
  for (const char c : text) {
    if (c == '=') {
      ++padding;
      continue;
    }
    const auto value = kBase64.find(c);
    if (value == std::string_view::npos || padding != 0)
      return fail(Kind::usage, "not base64 text");
    group = (group << 6) | static_cast<std::uint32_t>(value);
    if (++digits % 4 == 0) {
      out += static_cast<char>(group >> 16);
      out += static_cast<char>((group >> 8) & 0xFF);
      out += static_cast<char>(group & 0xFF);
      group = 0;
    }
  }
  const std::size_t rest = digits % 4;
  if (rest == 1 || padding > 2 || (digits + padding) % 4 != 0)
    return fail(Kind::usage, "not base64 text: wrong length");
  if (rest == 2) out += static_cast<char>(group >> 4);
  if (rest == 3) {
    out += static_cast<char>(group >> 10);
    out += static_cast<char>((group >> 2) & 0xFF);
  }
  return out;
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t hang) {
  const auto indent = std::min(text.find_first_not_of(' '), text.size());
  if (width == 0 || columns_of(text) <= width) return std::string(text);
  std::string out(indent, ' ');
  std::size_t column = indent;
  bool is_first = true;
  for (const auto word : split(text.substr(indent), ' ')) {
    const auto size = columns_of(word);
    if (!is_first && column + 1 + size > width) {
      out += "\n" + std::string(hang, ' ');
      column = hang;
      is_first = true;
    }
    if (!is_first) out += ' ', ++column;
    out += word;
    column += size;
    is_first = false;
  }
  return out;
}

std::string to_hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

std::optional<std::string> from_hex(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (text.size() % 2 != 0) return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const auto high = kDigits.find(text[i]);
    const auto low = kDigits.find(text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
  }
  return out;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      next[j] =
          std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before.swap(row);
    row.swap(next);
  }
  return row[b.size()];
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  std::optional<std::string> best;
  std::size_t best_distance = word.size() < 4 ? 2 : word.size() / 3 + 1;
  for (const auto& candidate : candidates) {
    if (candidate.size() > word.size() + 3) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace muster
