/// Times of files as one number. Pure.
#pragma once
#include <cstdint>
#include <ctime>

namespace muster::fs {

/// Nanoseconds since 1970.
inline std::int64_t ns_of(const timespec& at) {
  return std::int64_t{at.tv_sec} * 1'000'000'000 + at.tv_nsec;
}

}  // namespace muster::fs
