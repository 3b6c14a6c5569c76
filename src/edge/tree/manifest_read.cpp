#include "edge/tree/manifest_read.hpp"

#include "edge/tree/names.hpp"

namespace muster::snapshot {

Result<EntryStream> EntryStream::open(Chunks& chunks, const tree::Hash& id) {
  TRY(const auto bytes, chunks.get_root(id));
  TRY(auto root, within(tree::decode_root(bytes), tree_name(id)));
  return EntryStream(chunks, std::move(root));
}

Result<std::optional<tree::Entry>> EntryStream::next() {
  while (at_ == entries_.size()) {
    if (next_leaf_ == root_.leaves.size()) {
      TRY_VOID(reader_.finish());
      return std::optional<tree::Entry>();
    }
    TRY(const auto leaf, chunks_->get(root_.leaves[next_leaf_].hash));
    TRY(entries_, reader_.read(leaf));
    ++next_leaf_;
    at_ = 0;
  }
  return std::optional(std::move(entries_[at_++]));
}

Result<tree::Root> read_manifest(Chunks& chunks, const tree::Hash& id,
                                 const std::function<Result<>(const tree::Entry&)>& each) {
  TRY(auto stream, EntryStream::open(chunks, id));
  for (;;) {
    TRY(const auto entry, stream.next());
    if (!entry) return stream.root();
    TRY_VOID(each(*entry));
  }
}

}  // namespace muster::snapshot
