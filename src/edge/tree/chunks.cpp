#include "edge/tree/chunks.hpp"

#include <algorithm>
#include <cstring>

#include "edge/tree/names.hpp"

namespace muster::snapshot {
namespace {

constexpr std::size_t kOpenBlocks = 8;

std::uint64_t head_of(const tree::Hash& hash) {
  std::uint64_t head = 0;
  std::memcpy(&head, hash.bytes.data(), sizeof head);
  return head;
}

tl::unexpected<Error> damaged(const std::string& name, std::string_view why) {
  auto failed = fail(Kind::corrupt, fmt::format("the store is damaged: {}", why),
                     "find out what is lost: muster snapshot verify");
  failed.value().where = name;
  return failed;
}

}  // namespace

Result<Pack> read_pack(BlobStore& blobs, const tree::Hash& name, std::uint64_t size) {
  const auto path = pack_name(name);
  if (size < tree::kTrailerSize) return damaged(path, "a pack is too short");
  TRY(const auto trailer, blobs.get(path, size - tree::kTrailerSize, tree::kTrailerSize));
  TRY(const auto place, within(tree::find_tables(trailer, size), path));
  if (place.hash != name) return damaged(path, "a pack's name is not its content's");
  TRY(const auto bytes, blobs.get(path, place.offset, place.size));
  TRY(auto tables, within(tree::decode_tables(bytes, place), path));
  return Pack{name, size, std::move(tables)};
}

Chunks::Chunks(BlobStore& blobs, std::vector<Pack> packs)
    : blobs_(blobs), is_loaded_(true), packs_(std::move(packs)) {
  for (const auto& pack : packs_) chunks_ += pack.tables.chunks.size();
}

Result<> Chunks::load() {
  if (is_loaded_) return {};
  std::vector<std::pair<tree::Hash, std::uint64_t>> found;
  TRY_VOID(blobs_.list("v1/packs/", [&](const BlobInfo& info) {
    if (const auto hash = hash_in_name(info.name)) found.emplace_back(*hash, info.size);
    return true;
  }));
  for (const auto& [name, size] : found) {
    auto pack = read_pack(blobs_, name, size);
    if (!pack && pack.error().kind != Kind::corrupt) return tl::unexpected<Error>(pack.error());
    if (!pack) {
      if (damage_.empty()) damage_ = to_line(pack.error());
      continue;
    }
    chunks_ += pack->tables.chunks.size();
    packs_.push_back(std::move(*pack));
  }
  is_loaded_ = true;
  return {};
}

void Chunks::sort_keys() {
  keys_.reserve(chunks_);
  for (std::uint32_t p = 0; p < packs_.size(); ++p)
    for (std::uint32_t c = 0; c < packs_[p].tables.chunks.size(); ++c)
      keys_.push_back({head_of(packs_[p].tables.chunks[c].hash), p, c});
  std::sort(keys_.begin(), keys_.end());
}

std::optional<Chunks::Key> Chunks::find_in_packs(const tree::Hash& hash) const {
  for (std::uint32_t p = 0; p < packs_.size(); ++p) {
    const auto& chunks = packs_[p].tables.chunks;
    const auto at = std::lower_bound(chunks.begin(), chunks.end(), hash,
                                     [](const tree::ChunkPlace& place, const tree::Hash& wanted) {
                                       return place.hash < wanted;
                                     });
    if (at == chunks.end() || at->hash != hash) continue;
    return Key{head_of(hash), p, static_cast<std::uint32_t>(at - chunks.begin())};
  }
  return std::nullopt;
}

/// One edit asks for two chunks. Sorting all of them pays when looking into every pack has cost as
/// much.
std::optional<Chunks::Key> Chunks::find(const tree::Hash& hash) {
  if (keys_.empty()) {
    searched_ += packs_.size();
    if (searched_ < chunks_) return find_in_packs(hash);
    sort_keys();
  }
  auto at = std::lower_bound(keys_.begin(), keys_.end(), Key{head_of(hash), 0, 0});
  for (; at != keys_.end() && at->head == head_of(hash); ++at)
    if (packs_[at->pack].tables.chunks[at->chunk].hash == hash) return *at;
  return std::nullopt;
}

Result<bool> Chunks::has(const tree::Hash& hash) {
  TRY_VOID(load());
  return find(hash).has_value();
}

Result<std::string_view> Chunks::block(std::uint32_t pack, std::uint32_t block) {
  const auto known = std::find_if(open_.begin(), open_.end(), [&](const OpenBlock& one) {
    return one.pack == pack && one.block == block;
  });
  if (known != open_.end()) {
    open_.splice(open_.begin(), open_, known);
    return std::string_view(open_.front().bytes);
  }
  const auto& row = packs_[pack].tables.blocks[block];
  const auto name = pack_name(packs_[pack].name);
  TRY(const auto stored, blobs_.get(name, row.offset, row.stored));
  TRY(auto bytes, within(tree::open_block(stored, row), name));
  if (open_.size() >= kOpenBlocks) open_.pop_back();
  open_.push_front({pack, block, std::move(bytes)});
  return std::string_view(open_.front().bytes);
}

Result<std::string_view> Chunks::get(const tree::Hash& hash) {
  TRY_VOID(load());
  const auto key = find(hash);
  if (!key && !damage_.empty())
    return damaged(tree::to_hex(hash), "a chunk that a snapshot needs is in no pack; " + damage_);
  if (!key) return damaged(tree::to_hex(hash), "a chunk that a snapshot needs is in no pack");
  const auto& place = packs_[key->pack].tables.chunks[key->chunk];
  TRY(const auto bytes, block(key->pack, place.block));
  const auto chunk = bytes.substr(place.offset, place.size);
  if (tree::hash_of(chunk) != hash)
    return damaged(pack_name(packs_[key->pack].name), "a chunk's bytes are not what its name says");
  return chunk;
}

Result<std::string> Chunks::get_root(const tree::Hash& id) {
  constexpr std::uint64_t kLargestRoot = 256U << 20;
  TRY(auto bytes, blobs_.get(tree_name(id), 0, kLargestRoot));
  if (tree::hash_of(bytes) != id)
    return damaged(tree_name(id), "a snapshot's root is not what its name says");
  return bytes;
}

}  // namespace muster::snapshot
