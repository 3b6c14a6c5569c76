#include "edge/kube/quantity.hpp"

#include <charconv>
#include <cmath>
#include <utility>

namespace muster::kube {
namespace {

constexpr double kKi = 1024;
constexpr std::pair<std::string_view, double> kSuffixes[] = {
    {"", 1},
    {"n", 1e-9},
    {"u", 1e-6},
    {"m", 1e-3},
    {"k", 1e3},
    {"M", 1e6},
    {"G", 1e9},
    {"T", 1e12},
    {"P", 1e15},
    {"E", 1e18},
    {"Ki", kKi},
    {"Mi", kKi* kKi},
    {"Gi", kKi* kKi* kKi},
    {"Ti", kKi* kKi* kKi* kKi},
    {"Pi", kKi* kKi* kKi* kKi* kKi},
    {"Ei", kKi* kKi* kKi* kKi* kKi* kKi},
};

}  // namespace

std::optional<double> parse_quantity(std::string_view text) {
  double number = 0;
  const auto* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || !std::isfinite(number)) return std::nullopt;
  const std::string_view suffix(read.ptr, static_cast<std::size_t>(end - read.ptr));
  for (const auto& [name, factor] : kSuffixes)
    if (name == suffix) return number * factor;
  return std::nullopt;
}

}  // namespace muster::kube
