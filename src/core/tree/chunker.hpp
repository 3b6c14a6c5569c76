/// FastCDC: where to cut a file into chunks, by content. Pure; one value per use, no state kept.
#pragma once
#include <cstddef>
#include <string_view>

namespace muster::tree {

inline constexpr std::size_t kWholeFile = 1U << 20;  // a file up to this is one chunk
inline constexpr std::size_t kLeastChunk = 256U << 10;
inline constexpr std::size_t kUsualChunk = 1U << 20;
inline constexpr std::size_t kMostChunk = 4U << 20;

/// The size of the first chunk of `bytes`. `bytes` must hold kMostChunk bytes unless the file ends
/// with them; then the rest is one chunk when no cut is found.
std::size_t first_cut(std::string_view bytes);

}  // namespace muster::tree
