/// The snapshots of this home and what is in one, as people and scripts read them. One thread.
#pragma once
#include <string>

#include "app/cli/own_snapshots.hpp"

namespace muster {

/// Every snapshot with its size, age, and the newest job that runs it.
Result<> print_snapshots(Context& context, OwnSnapshots& store);
/// Totals, then entries as ls -l has them.
Result<> print_entries(Context& context, OwnSnapshots& store, const tree::Hash& id);
/// The bytes of a file; of a folder, what lies in it.
Result<> print_path(Context& context, OwnSnapshots& store, const tree::Hash& id,
                    const std::string& path);

}  // namespace muster
