/// The chunks of a store: which are there, and their bytes, checked before they are given out.
/// Neighbours are cheap: a few opened blocks are kept. Single thread.
#pragma once
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/tree/pack.hpp"
#include "port/blob.hpp"

namespace muster::snapshot {

struct Pack {
  tree::Hash name;
  std::uint64_t size = 0;
  tree::PackTables tables;
};

/// Reads the tables of one pack, checked.
Result<Pack> read_pack(BlobStore& blobs, const tree::Hash& name, std::uint64_t size);

class Chunks {
 public:
  explicit Chunks(BlobStore& blobs) : blobs_(blobs) {}
  /// Knows these packs and no others.
  Chunks(BlobStore& blobs, std::vector<Pack> packs);

  /// Reads the tables of all packs; the first question does it by itself. A damaged pack is as good
  /// as none: who needs a chunk of it is told, and nobody else.
  Result<> load();
  Result<bool> has(const tree::Hash& hash);
  /// Whether a pack was passed over; known once anything was asked for.
  bool is_damaged() const { return !damage_.empty(); }
  /// The bytes; good until the next call.
  Result<std::string_view> get(const tree::Hash& hash);
  /// A root, checked against the id it is stored under.
  Result<std::string> get_root(const tree::Hash& id);

 private:
  struct Key {
    std::uint64_t head;  // the first bytes of the hash
    std::uint32_t pack;
    std::uint32_t chunk;
    auto operator<=>(const Key&) const = default;
  };
  struct OpenBlock {
    std::uint32_t pack;
    std::uint32_t block;
    std::string bytes;
  };
  void sort_keys();
  std::optional<Key> find(const tree::Hash& hash);
  std::optional<Key> find_in_packs(const tree::Hash& hash) const;
  Result<std::string_view> block(std::uint32_t pack, std::uint32_t block);

  BlobStore& blobs_;
  bool is_loaded_ = false;
  std::vector<Pack> packs_;
  std::string damage_;         // the first pack that could not be read, and why
  std::size_t chunks_ = 0;     // of all packs
  std::size_t searched_ = 0;   // packs, while there are no keys
  std::vector<Key> keys_;      // ascending; none until enough was asked for
  std::list<OpenBlock> open_;  // the last used first
};

}  // namespace muster::snapshot
