/// The entries of a stored snapshot in walk order, each leaf checked before it is read.
#pragma once
#include <functional>

#include "core/tree/manifest.hpp"
#include "edge/tree/chunks.hpp"

namespace muster::snapshot {

/// `each` gets every entry; its error ends the reading. Gives the root.
Result<tree::Root> read_manifest(Chunks& chunks, const tree::Hash& id,
                                 const std::function<Result<>(const tree::Entry&)>& each);

/// One entry at a time, for reading two side by side.
class EntryStream {
 public:
  static Result<EntryStream> open(Chunks& chunks, const tree::Hash& id);
  /// Nothing at the end; then the totals have been checked.
  Result<std::optional<tree::Entry>> next();
  const tree::Root& root() const { return root_; }

 private:
  EntryStream(Chunks& chunks, tree::Root root)
      : chunks_(&chunks), root_(root), reader_(std::move(root)) {}
  Chunks* chunks_;
  tree::Root root_;
  tree::LeafReader reader_;
  std::size_t next_leaf_ = 0;
  std::vector<tree::Entry> entries_;
  std::size_t at_ = 0;
};

}  // namespace muster::snapshot
