#include "edge/blob/blob_name.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace muster {
namespace {

constexpr std::size_t kLongestPart = 255;  // what file systems take
constexpr std::size_t kLongest = 1024;

bool is_plain(char c) {
  return ('a' <= c && c <= 'z') || ('0' <= c && c <= '9') || c == '.' || c == '_' || c == '-';
}
bool is_plain_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), is_plain) && text.size() <= kLongestPart;
}
bool is_part(std::string_view text) {
  return !text.empty() && text != "." && text != ".." && is_plain_text(text);
}

tl::unexpected<Error> bad(std::string_view name) {
  return fail(Kind::usage, fmt::format("\"{}\" is no name of an object", printable(name)),
              "use parts of a-z, 0-9, '.', '_' and '-', separated by '/'");
}

}  // namespace

Result<> check_blob_name(std::string_view name) {
  const auto parts = split(name, '/');
  if (name.size() > kLongest || !std::all_of(parts.begin(), parts.end(), is_part)) return bad(name);
  return {};
}

Result<> check_blob_prefix(std::string_view prefix) {
  auto parts = split(prefix, '/');
  const bool is_well = is_plain_text(parts.back());
  parts.pop_back();
  if (prefix.size() > kLongest || !is_well || !std::all_of(parts.begin(), parts.end(), is_part))
    return bad(prefix);
  return {};
}

}  // namespace muster
