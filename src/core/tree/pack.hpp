/// A pack: many chunks in one object. Blocks of compressed chunks, then tables, then a trailer of
/// fixed size. The name of a pack is the SHA-256 of its tables. docs/reference/store.md.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "core/tree/entry.hpp"

namespace muster::tree {

inline constexpr std::size_t kPackSize = 16U << 20;    // a pack is ended when it is this large
inline constexpr std::size_t kPackChunks = 32'768;     // or has this many: rows cost memory
inline constexpr std::size_t kBlockSize = 512U << 10;  // small chunks are compressed together
inline constexpr std::size_t kMostBlock = 16U << 20;   // and so the largest chunk there can be
inline constexpr std::size_t kMostTables = 2 * kPackSize;
inline constexpr std::size_t kTrailerSize = 64;

struct Block {
  std::uint64_t offset = 0;  // in the pack
  std::uint32_t stored = 0;  // bytes in the pack
  std::uint32_t size = 0;    // bytes of its chunks; equal to stored: not compressed
  std::uint64_t check = 0;   // XXH3-64 of the stored bytes
  auto operator<=>(const Block&) const = default;
};

struct ChunkPlace {
  Hash hash;
  std::uint32_t block = 0;
  std::uint32_t offset = 0;  // in the block
  std::uint32_t size = 0;
  auto operator<=>(const ChunkPlace&) const = default;
};

struct PackTables {
  std::vector<Block> blocks;       // one behind the other, from the first byte up to the tables
  std::vector<ChunkPlace> chunks;  // ascending by hash
  auto operator<=>(const PackTables&) const = default;
};

/// Gathers chunks; the bytes are there when it is ended. Single thread; one zstd context reused.
class PackWriter {
 public:
  PackWriter();
  ~PackWriter();
  PackWriter(PackWriter&&) noexcept;
  PackWriter& operator=(PackWriter&&) noexcept;
  /// 1 to kMostBlock bytes. A chunk that is there already is not added again.
  void add(const Hash& hash, std::string_view chunk);
  bool has(const Hash& hash) const;
  bool is_empty() const;
  /// What the pack would have at most if it ended now: what is not compressed yet is counted as it
  /// is, and the tables are counted too.
  std::size_t size() const;
  /// It is time to end it.
  bool is_full() const;
  struct Done {
    Hash name;
    std::string bytes;
  };
  /// Ends the pack; the writer is empty again.
  Done end();
  /// The bytes of a pack that nobody needs any more: the next one is gathered in their memory.
  void reuse(std::string bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string encode(const PackTables& tables);

/// Where the tables are, from the last kTrailerSize bytes of a pack of `pack_size` bytes.
struct TablesPlace {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  Hash hash;
};
std::string encode(const TablesPlace& place);
Result<TablesPlace> find_tables(std::string_view trailer, std::uint64_t pack_size);
/// Checks the hash, the order and every bound.
Result<PackTables> decode_tables(std::string_view bytes, const TablesPlace& place);
/// The chunks of a block, exactly as many bytes as the block says. The hash of each chunk is the
/// caller's to check. Any thread.
Result<std::string> open_block(std::string_view stored, const Block& block);
std::optional<ChunkPlace> find(const PackTables& tables, const Hash& hash);

}  // namespace muster::tree
