#include "base/redact.hpp"

#include <algorithm>
#include <cctype>

namespace muster {
namespace {

constexpr std::size_t kShortestKnown = 4;
/// How such names end, without - _ and in lower case.
constexpr std::string_view kEndings[] = {
    "token",     "secret",        "password",   "passwd",    "passphrase",      "pwd",
    "apikey",    "accesskey",     "accountkey", "sharedkey", "privatekey",      "secretkey",
    "signature", "authorization", "credential", "sastoken",  "connectionstring"};
/// What may stand within a value: everything but what ends one in an address, a list or JSON.
constexpr std::string_view kEnds = " \t\r\n&;,\"'`<>(){}[]|\\";

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c != '_' && c != '-') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

void take_out_known(std::string& text, const std::string& value) {
  for (auto at = text.find(value); at != text.npos; at = text.find(value, at + kRedacted.size()))
    text.replace(at, value.size(), kRedacted);
}

/// From `at`, the value that begins there, or behind blanks and one quote; its end.
std::size_t end_of_value(std::string_view text, std::size_t& at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  // JSON within JSON has a backslash before its quotes.
  if (at + 1 < text.size() && text[at] == '\\' && text[at + 1] == '"') at += 2;
  const bool is_quoted = at < text.size() && (text[at] == '"' || text[at] == '\'');
  if (!is_quoted) return std::min(text.find_first_of(kEnds, at), text.size());
  const char quote = text[at++];
  return std::min({text.find(quote, at), text.find('\n', at), text.size()});
}

/// The name that ends before `at`, past one quote.
std::string_view name_before(std::string_view text, std::size_t at) {
  std::size_t end = at;
  if (end > 0 && (text[end - 1] == '"' || text[end - 1] == '\'')) --end;
  if (end > 0 && text[end - 1] == '\\') --end;
  std::size_t start = end;
  while (start > 0 && is_name_char(text[start - 1])) --start;
  return text.substr(start, end - start);
}

/// name=value, name: value, "name": "value".
std::string without_named(std::string_view text) {
  std::string out;
  std::size_t done = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i < done || (text[i] != '=' && text[i] != ':')) continue;
    if (!is_secret_name(name_before(text, i))) continue;
    std::size_t start = i + 1;
    const auto end = end_of_value(text, start);
    if (end <= start) continue;
    // A scheme before the proof is no secret.
    const auto value = text.substr(start, end - start);
    if (value == "Bearer" || value == "Basic") continue;
    out += text.substr(done, start - done);
    out += kRedacted;
    done = end;
  }
  return out += text.substr(done);
}

/// "Bearer x" and "Basic x" keep the scheme.
std::string without_proofs(std::string_view text, std::string_view scheme) {
  std::string out;
  std::size_t done = 0;
  for (auto at = text.find(scheme); at != text.npos; at = text.find(scheme, done)) {
    const auto start = at + scheme.size();
    const auto end = std::min(text.find_first_of(kEnds, start), text.size());
    out += text.substr(done, start - done);
    if (end > start) out += kRedacted;
    done = end;
  }
  return out += text.substr(done);
}

/// "://name:password@host" keeps the host.
std::string without_logins(std::string_view text) {
  std::string out;
  std::size_t done = 0;
  for (auto at = text.find("://"); at != text.npos; at = text.find("://", at + 3)) {
    const auto start = at + 3;
    const auto end = text.find_first_of("@/ \t\r\n\"'", start);
    if (end == text.npos || text[end] != '@') continue;
    out += text.substr(done, start - done);
    out += kRedacted;
    done = end;
  }
  return out += text.substr(done);
}

}  // namespace

bool is_secret_name(std::string_view name) {
  const auto word = plain(name);
  if (word == "sig" || word == "key" || word == "auth") return true;
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [&](std::string_view ending) { return word.ends_with(ending); });
}

std::string redacted(std::string_view text, const std::vector<std::string>& known) {
  std::string out(text);
  for (const auto& value : known)
    if (value.size() >= kShortestKnown) take_out_known(out, value);
  return without_logins(without_proofs(without_proofs(without_named(out), "Bearer "), "Basic "));
}

}  // namespace muster
