/// A snapshot as one stream of bytes: packs with exactly its chunks, then its root. It needs no
/// store on the way: a file, a Secret, the stdin of a process. docs/reference/store.md has the
/// bytes. Memory is that of a few packs, whatever the size. Single thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "core/tree/entry.hpp"
#include "port/blob.hpp"

namespace muster::snapshot {

/// Takes the next bytes; its error ends the writing.
using Sink = std::function<Result<>(std::string_view)>;
/// Gives at most `most` bytes; 0 at the end.
using Source = std::function<Result<std::size_t>(char* into, std::size_t most)>;

/// Gives how many bytes it was.
Result<std::uint64_t> write_bundle(BlobStore& from, const tree::Hash& id, const Sink& sink);

/// Trusts nothing: every chunk is checked before it is stored, and the root is stored last, when
/// everything it names is there. Gives the snapshot's id. `not_found` when there is not a byte.
Result<tree::Hash> read_bundle(BlobStore& into, const Source& source);

}  // namespace muster::snapshot
