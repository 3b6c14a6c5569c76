/// Reads a file of a tree into pieces, and notices when it changes meanwhile. Any thread.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "core/tree/entry.hpp"
#include "edge/fs/walk.hpp"

namespace muster::snapshot {

struct ReadPiece {
  tree::Piece piece;
  std::string bytes;  // empty for a hole
};

/// What is done with a file that is different each time it is read.
enum class Racy { refuse, record };

/// A file of at most tree::kWholeFile bytes; `seen` becomes what it was when it was read. Nothing
/// when it is gone or no file any more.
Result<std::optional<std::vector<ReadPiece>>> read_small(int top, fs::Seen& seen, Racy racy);
/// A larger one, piece by piece; after a change it begins anew, and `restart` is called first.
Result<bool> read_large(int top, fs::Seen& seen, Racy racy, const std::function<void()>& restart,
                        const std::function<Result<>(ReadPiece&&)>& each);

}  // namespace muster::snapshot
