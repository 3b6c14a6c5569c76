#include "core/render/names.hpp"

#include <fmt/core.h>

#include "base/hash.hpp"

namespace muster::render {
namespace {

constexpr std::size_t kLongestLabel = 63;

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// The first `count` hex digits of a text, in lower case; zeros where it has too few.
std::string hex_digits(std::string_view text, std::size_t count) {
  std::string digits;
  for (char c : text) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
    const bool is_hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (is_hex && digits.size() < count) digits += c;
  }
  return digits.append(count - digits.size(), '0');
}

}  // namespace

std::string object_name(const AttemptRef& ref, std::string_view home_id) {
  // An id is user_epoch_8hex: its last part is what no other job of this home has.
  const std::string_view id = ref.job.str();
  const auto digits = id.substr(id.rfind('_') + 1);
  return fmt::format("m-{}-{}-{}", hex_digits(digits, 8), hex_digits(home_id, 4), ref.attempt);
}

std::string code_name(const AttemptRef& ref, std::string_view home_id) {
  return object_name(ref, home_id) + "-code";
}

std::string peer_address(std::string_view object_name, int index) {
  return fmt::format("{0}-{1}.{0}", object_name, index);
}

Labels labels_of(const AttemptRef& ref, std::string_view home_id) {
  return {{"app.kubernetes.io/managed-by", "muster"},
          {kHomeLabel, label_value(home_id)},
          {kJobLabel, label_value(ref.job.str())},
          {kAttemptLabel, fmt::format("{}", ref.attempt)}};
}

std::string selector_of(std::string_view home_id) {
  return fmt::format("{}={}", kHomeLabel, label_value(home_id));
}

std::string selector_of(std::string_view home_id, std::string_view cluster,
                        std::string_view place) {
  return fmt::format("{},{}={},{}={}", selector_of(home_id), kClusterLabel, label_value(cluster),
                     kPlaceLabel, place);
}

std::string place_of(std::string_view kubeconfig, std::string_view context) {
  return sha256_hex(fmt::format("{}\n{}", kubeconfig, context)).substr(0, 8);
}

std::string selector_of(const AttemptRef& ref, std::string_view home_id) {
  return fmt::format("{},{}={},{}={}", selector_of(home_id), kJobLabel, label_value(ref.job.str()),
                     kAttemptLabel, ref.attempt);
}

std::string label_value(std::string_view text) {
  std::string value;
  for (const char c : text.substr(0, kLongestLabel))
    value += is_alphanumeric(c) || c == '-' || c == '_' || c == '.' ? c : '-';
  while (!value.empty() && !is_alphanumeric(value.back())) value.pop_back();
  std::size_t start = 0;
  while (start < value.size() && !is_alphanumeric(value[start])) ++start;
  return value.substr(start);
}

}  // namespace muster::render
