// Any bytes as the tables of a pack, as its end, and as a block: read, or refused. The hash and the
// check are made to fit, because guessing them is not what is tried here.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/hash.hpp"
#include "core/tree/pack.hpp"

namespace tree = muster::tree;

namespace {

void read_tables(std::string_view bytes, std::uint64_t blocks_end) {
  const tree::TablesPlace place{
      .offset = blocks_end, .size = bytes.size(), .hash = tree::hash_of(bytes)};
  const auto tables = tree::decode_tables(bytes, place);
  if (!tables) return;
  if (tree::encode(*tables) != bytes) std::abort();
  for (const auto& chunk : tables->chunks) {
    if (tree::find(*tables, chunk.hash) != chunk) std::abort();
    if (std::uint64_t{chunk.offset} + chunk.size > tables->blocks[chunk.block].size) std::abort();
  }
  for (const auto& block : tables->blocks)
    if (block.offset + block.stored > blocks_end) std::abort();
}

void read_end(std::string_view bytes, std::uint64_t pack_size) {
  const auto place = tree::find_tables(bytes, pack_size);
  if (!place) return;
  if (tree::encode(*place) != bytes) std::abort();
  if (place->offset + place->size + tree::kTrailerSize != pack_size) std::abort();
}

void read_block(std::string_view bytes, std::uint32_t size) {
  const tree::Block block{.stored = static_cast<std::uint32_t>(bytes.size()),
                          .size = size,
                          .check = muster::xxh3(bytes)};
  const auto opened = tree::open_block(bytes, block);
  if (opened && opened->size() != size) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 3, size - 3);
  const auto number = static_cast<std::uint32_t>(data[1] | data[2] << 8);
  switch (data[0] % 3) {
    case 0: read_tables(bytes, number); break;
    case 1: read_end(bytes, number); break;
    default: read_block(bytes, number); break;
  }
  return 0;
}
