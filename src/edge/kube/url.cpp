#include "edge/kube/url.hpp"

#include <arpa/inet.h>

#include <array>
#include <charconv>
#include <cstring>

#include "base/text.hpp"
#include "edge/http/message.hpp"

namespace muster::kube {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (auto& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::uint16_t port_of(std::string_view scheme) {
  if (scheme == "http") return 80;
  if (scheme.starts_with("socks5")) return 1080;
  return 443;
}

tl::unexpected<Error> bad(std::string_view text) {
  return fail(Kind::usage, fmt::format("\"{}\" is not an address of a server", printable(text)),
              "write it like https://host:6443");
}

bool is_name(std::string_view text, std::string_view marks) {
  for (const char c : text)
    if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && marks.find(c) == marks.npos)
      return false;
  return !text.empty();
}

struct Address {
  std::array<std::uint8_t, 16> bytes{};
  int bits = 0;  // 32, 128; 0 for a name
};

Address address_of(std::string_view text) {
  const std::string copy(text);
  Address address;
  if (::inet_pton(AF_INET, copy.c_str(), address.bytes.data()) == 1)
    address.bits = 32;
  else if (::inet_pton(AF_INET6, copy.c_str(), address.bytes.data()) == 1)
    address.bits = 128;
  return address;
}

bool is_in_range(const Address& address, std::string_view range) {
  const auto slash = range.find('/');
  if (slash == std::string_view::npos || address.bits == 0) return false;
  const auto base = address_of(range.substr(0, slash));
  int bits = -1;
  const auto count = range.substr(slash + 1);
  std::from_chars(count.data(), count.data() + count.size(), bits);
  if (base.bits != address.bits || bits < 0 || bits > base.bits) return false;
  for (int bit = 0; bit < bits; ++bit) {
    const auto at = static_cast<std::size_t>(bit / 8);
    if (((base.bytes[at] ^ address.bytes[at]) >> (7 - bit % 8) & 1) != 0) return false;
  }
  return true;
}

}  // namespace

std::string Url::authority() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
}

Result<Url> parse_url(std::string_view text) {
  const auto colon = text.find("://");
  Url url{.scheme = colon == std::string_view::npos ? "https" : lower(text.substr(0, colon))};
  auto rest = colon == std::string_view::npos ? text : text.substr(colon + 3);
  const auto slash = rest.find_first_of("/?#");
  if (slash != std::string_view::npos) {
    url.path = rest.substr(slash, rest.find_first_of("?#") - slash);
    while (url.path.ends_with('/')) url.path.pop_back();
    rest = rest.substr(0, slash);
  }
  if (const auto at = rest.rfind('@'); at != std::string_view::npos) {
    const auto user = http::percent_decoded(rest.substr(0, at));
    if (!user) return bad(text);
    url.user = *user;
    rest = rest.substr(at + 1);
  }
  const auto end = rest.starts_with('[') ? rest.find(']') : rest.rfind(':');
  if (rest.starts_with('[') && end == std::string_view::npos) return bad(text);
  url.host = lower(rest.starts_with('[') ? rest.substr(1, end - 1) : rest.substr(0, end));
  auto port = rest.starts_with('[')           ? rest.substr(end + 1)
              : end == std::string_view::npos ? std::string_view()
                                              : rest.substr(end);
  url.port = port_of(url.scheme);
  if (!port.empty()) {
    if (port.front() != ':') return bad(text);
    port.remove_prefix(1);
    const auto [last, error] = std::from_chars(port.data(), port.data() + port.size(), url.port);
    if (error != std::errc() || last != port.data() + port.size() || url.port == 0)
      return bad(text);
  }
  // What has two readings is refused: a colon belongs to an address in brackets only.
  const bool is_v6 = rest.starts_with('[');
  const bool is_clean = is_name(url.scheme, "+-.") && is_name(url.host, is_v6 ? ":.%" : "-._") &&
                        is_v6 == (url.host.find(':') != url.host.npos) &&
                        printable(url.path) == url.path && url.path.find(' ') == url.path.npos;
  return is_clean ? Result<Url>(url) : bad(text);
}

bool is_exempt(std::string_view host, std::string_view no_proxy) {
  const auto name = lower(host);
  const auto address = address_of(name);
  for (const auto part : split(no_proxy, ',')) {
    auto rule = lower(trimmed(part));
    if (rule == "*") return true;
    if (const auto colon = rule.rfind(':'); colon != std::string::npos && colon == rule.find(':'))
      rule.resize(colon);  // a port
    if (rule.empty()) continue;
    if (is_in_range(address, rule) || rule == name) return true;
    if (rule.front() != '.') rule.insert(0, 1, '.');
    if (address.bits == 0 && (name.ends_with(rule) || name == rule.substr(1))) return true;
  }
  return false;
}

}  // namespace muster::kube
