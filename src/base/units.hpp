/// Amounts with units: bytes and milli-cpus. Parsing is strict; formatting is for people.
#pragma once
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace muster {

struct Bytes {
  std::int64_t count = 0;
  auto operator<=>(const Bytes&) const = default;
  Bytes& operator+=(Bytes other) {
    count += other.count;
    return *this;
  }
  Bytes& operator-=(Bytes other) {
    count -= other.count;
    return *this;
  }
};

/// Thousandths of a cpu, so that half a core is exact.
struct MilliCpus {
  std::int64_t count = 0;
  auto operator<=>(const MilliCpus&) const = default;
  MilliCpus& operator+=(MilliCpus other) {
    count += other.count;
    return *this;
  }
  MilliCpus& operator-=(MilliCpus other) {
    count -= other.count;
    return *this;
  }
};

/// "512M", "16G", "16Gi", "1.5T", "4096": K/M/G/T/P and Ki.. are powers of 1024 as in Slurm and
/// docker; "KB", "MB", "GB" are powers of 1000.
Result<Bytes> parse_bytes(std::string_view text);
std::string to_text(Bytes bytes);

/// "4", "0.5", "500m".
Result<MilliCpus> parse_cpus(std::string_view text);
std::string to_text(MilliCpus cpus);

/// A whole number within [low, high]; the error names the bounds.
Result<std::int64_t> parse_whole(std::string_view text, std::int64_t low, std::int64_t high);

}  // namespace muster
