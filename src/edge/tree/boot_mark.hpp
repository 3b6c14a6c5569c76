/// Says beside a tree that it is whole: `<tree>.boot` holds the boot of the machine it was made in,
/// since nothing of it was synced; its time is that of the last use. Under the tree's own lock.
#pragma once
#include <string>

#include "base/error.hpp"

namespace muster::snapshot {

inline constexpr const char* kBootMark = ".boot";

/// Whole, and made in this boot; then it is used now.
Result<bool> is_whole(const std::string& tree);
/// It was made, just now.
Result<> mark_whole(const std::string& tree);
/// Somebody uses what has this mark: from now on it is young again.
void renew_mark(const std::string& mark);

}  // namespace muster::snapshot
