/// The chunks of a pack as they lie in it. Pure.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "edge/tree/chunks.hpp"

namespace muster::snapshot {

/// Neighbours stay neighbours: who reads in this order opens each block once. Good as long as the
/// pack is.
inline std::vector<const tree::ChunkPlace*> in_stored_order(const Pack& pack) {
  std::vector<const tree::ChunkPlace*> places;
  for (const auto& place : pack.tables.chunks) places.push_back(&place);
  std::sort(places.begin(), places.end(), [](const auto* a, const auto* b) {
    return std::pair(a->block, a->offset) < std::pair(b->block, b->offset);
  });
  return places;
}

}  // namespace muster::snapshot
