/// What is different between two snapshots. Single thread.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "edge/tree/chunks.hpp"

namespace muster::snapshot {

/// In walk order. Without `before` it was added, without `after` removed.
struct Change {
  std::optional<tree::Entry> before;
  std::optional<tree::Entry> after;
  const std::string& path() const { return after ? after->path : before->path; }
};

Result<> diff(Chunks& chunks, const tree::Hash& before, const tree::Hash& after,
              const std::function<Result<>(const Change&)>& each);

}  // namespace muster::snapshot
