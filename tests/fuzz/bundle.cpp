// Any bytes as a bundle: read, or refused. What was read is whole: its root, and all that it names.
// A pack's tables are hidden behind a hash, so the input is taken as the parts of a bundle and the
// hash is made to fit, as it is for the pack.
#include "edge/tree/bundle.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>

#include "core/tree/pack.hpp"
#include "core/tree/wire.hpp"
#include "edge/tree/manifest_read.hpp"

namespace tree = muster::tree;
using muster::Result;

namespace {

class Memory final : public muster::BlobStore {
 public:
  Result<> put(const std::string& name, std::string_view bytes) override {
    objects.emplace(name, bytes);
    return {};
  }
  Result<std::string> get(const std::string& name, std::uint64_t offset,
                          std::uint64_t size) override {
    const auto found = objects.find(name);
    if (found == objects.end()) return muster::fail(muster::Kind::not_found, name);
    return offset > found->second.size() ? std::string() : found->second.substr(offset, size);
  }
  Result<muster::BlobInfo> look(const std::string& name) override {
    if (!objects.contains(name)) return muster::fail(muster::Kind::not_found, name);
    return muster::BlobInfo{name, objects[name].size(), 0};
  }
  Result<> list(const std::string& prefix,
                const std::function<bool(const muster::BlobInfo&)>& each) override {
    for (const auto& [name, bytes] : objects)
      if (name.starts_with(prefix) && !each({name, bytes.size(), 0})) break;
    return {};
  }
  Result<> remove(const std::string& name) override {
    objects.erase(name);
    return {};
  }
  Result<std::shared_ptr<void>> lock(LockKind) override { return std::shared_ptr<void>(); }
  std::map<std::string, std::string> objects;
};

Result<tree::Hash> read(Memory& store, std::string_view bytes) {
  return muster::snapshot::read_bundle(store, [&](char* out, std::size_t most) {
    const auto some = bytes.copy(out, most);
    bytes.remove_prefix(some);
    return Result<std::size_t>(some);
  });
}

void read_any(std::string_view bytes) {
  Memory store;
  const auto id = read(store, bytes);
  if (!id) return;
  muster::snapshot::Chunks chunks(store);
  const auto whole = muster::snapshot::read_manifest(chunks, *id, [&](const tree::Entry& entry) {
    for (const auto& piece : entry.pieces)
      if (!piece.is_hole && !chunks.get(piece.hash)) std::abort();
    return Result<>();
  });
  if (!whole) std::abort();
}

void put_object(std::string& out, char kind, std::string_view bytes) {
  out += kind;
  tree::put_u64(out, bytes.size());
  out += bytes;
}

/// The bytes as the one leaf of a snapshot, in a pack that is right.
void read_as_leaf(std::string_view leaf) {
  if (leaf.empty()) return;
  tree::PackWriter writer;
  writer.add(tree::hash_of(leaf), leaf);
  const tree::Root root{.entries = 1U + leaf.front() % 4U,
                        .bytes = 0,
                        .leaves = {{.size = leaf.size(), .hash = tree::hash_of(leaf)}}};
  std::string bundle = "MUSBUND1";
  put_object(bundle, 'P', writer.end().bytes);
  put_object(bundle, 'R', tree::encode(root));
  read_any(bundle);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read_any(bytes);
  read_as_leaf(bytes);
  return 0;
}
