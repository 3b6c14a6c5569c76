#include "base/units.hpp"

#include <array>
#include <charconv>
#include <optional>

namespace muster {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr double kKi = 1024, kMi = kKi * 1024, kGi = kMi * 1024, kTi = kGi * 1024, kPi = kTi * 1024;
constexpr std::array kByteUnits{
    Unit{"", 1},      Unit{"B", 1},     Unit{"K", kKi},   Unit{"Ki", kKi},  Unit{"KiB", kKi},
    Unit{"M", kMi},   Unit{"Mi", kMi},  Unit{"MiB", kMi}, Unit{"G", kGi},   Unit{"Gi", kGi},
    Unit{"GiB", kGi}, Unit{"T", kTi},   Unit{"Ti", kTi},  Unit{"TiB", kTi}, Unit{"P", kPi},
    Unit{"Pi", kPi},  Unit{"PiB", kPi}, Unit{"kB", 1e3},  Unit{"KB", 1e3},  Unit{"MB", 1e6},
    Unit{"GB", 1e9},  Unit{"TB", 1e12}, Unit{"k", kKi},   Unit{"m", kMi},   Unit{"g", kGi},
    Unit{"t", kTi},
};
constexpr double kMaxBytes = 4e18;
constexpr double kMaxMilliCpus = 1e9;

struct Scaled {
  double number = 0;
  std::string_view unit;
};

std::optional<Scaled> split_number(std::string_view text) {
  Scaled scaled;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), scaled.number,
                                            std::chars_format::fixed);
  if (error != std::errc() || !(scaled.number >= 0 && scaled.number < 1e30)) return std::nullopt;
  scaled.unit = text.substr(static_cast<std::size_t>(end - text.data()));
  return scaled;
}

}  // namespace

Result<Bytes> parse_bytes(std::string_view text) {
  if (const auto scaled = split_number(text))
    for (const auto& unit : kByteUnits)
      if (unit.name == scaled->unit) {
        const double bytes = scaled->number * unit.factor;
        if (bytes > kMaxBytes)
          return fail(Kind::usage,
                      fmt::format("\"{}\" is more memory than can be addressed", text));
        return Bytes{static_cast<std::int64_t>(bytes)};
      }
  return fail(Kind::usage, fmt::format("not a size: \"{}\"", text),
              "write it as 512M, 16G or 1.5T");
}

std::string to_text(Bytes bytes) {
  constexpr std::array kNames{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double amount = static_cast<double>(bytes.count);
  std::size_t unit = 0;
  while (amount >= 1024 && unit + 1 < kNames.size()) {
    amount /= 1024;
    ++unit;
  }
  const bool whole = unit == 0 || amount >= 100 ||
                     amount == static_cast<double>(static_cast<std::int64_t>(amount));
  return whole ? fmt::format("{:.0f} {}", amount, kNames[unit])
               : fmt::format("{:.1f} {}", amount, kNames[unit]);
}

Result<MilliCpus> parse_cpus(std::string_view text) {
  const auto scaled = split_number(text);
  if (!scaled || (scaled->unit != "" && scaled->unit != "m"))
    return fail(Kind::usage, fmt::format("not a number of cpus: \"{}\"", text),
                "write it as 4, 0.5 or 500m");
  const double milli = scaled->unit == "m" ? scaled->number : scaled->number * 1000;
  if (milli > kMaxMilliCpus)
    return fail(Kind::usage, fmt::format("\"{}\" cpus is more than a million", text));
  return MilliCpus{static_cast<std::int64_t>(milli)};
}

std::string to_text(MilliCpus cpus) {
  if (cpus.count % 1000 == 0) return fmt::format("{}", cpus.count / 1000);
  return fmt::format("{:.2f}", static_cast<double>(cpus.count) / 1000);
}

Result<std::int64_t> parse_whole(std::string_view text, std::int64_t low, std::int64_t high) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size() && !text.empty();
  if (!whole || number < low || number > high)
    return fail(Kind::usage,
                fmt::format("not a whole number from {} to {}: \"{}\"", low, high, text));
  return number;
}

}  // namespace muster
