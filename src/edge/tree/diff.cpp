#include "edge/tree/diff.hpp"

#include "edge/tree/manifest_read.hpp"

namespace muster::snapshot {

Result<> diff(Chunks& chunks, const tree::Hash& before, const tree::Hash& after,
              const std::function<Result<>(const Change&)>& each) {
  TRY(auto old_stream, EntryStream::open(chunks, before));
  TRY(auto new_stream, EntryStream::open(chunks, after));
  TRY(auto old_entry, old_stream.next());
  TRY(auto new_entry, new_stream.next());
  while (old_entry || new_entry) {
    const bool takes_old =
        old_entry && (!new_entry || !tree::before(new_entry->path, old_entry->path));
    const bool takes_new =
        new_entry && (!old_entry || !tree::before(old_entry->path, new_entry->path));
    Change change;
    if (takes_old) change.before = std::move(old_entry);
    if (takes_new) change.after = std::move(new_entry);
    if (change.before != change.after) TRY_VOID(each(change));
    if (takes_old) {
      TRY(old_entry, old_stream.next());
    }
    if (takes_new) {
      TRY(new_entry, new_stream.next());
    }
  }
  return {};
}

}  // namespace muster::snapshot
