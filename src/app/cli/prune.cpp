#include "app/cli/prune.hpp"

#include <sys/stat.h>

#include <optional>
#include <set>

#include "app/cli/own_snapshots.hpp"
#include "app/cli/take_code.hpp"
#include "edge/blob/open.hpp"
#include "edge/fs/files.hpp"
#include "edge/tree/collect.hpp"
#include "edge/tree/idle_trees.hpp"
#include "edge/tree/stat_cache.hpp"

namespace muster {
namespace {

constexpr Duration kTreeAge = std::chrono::hours(1);
constexpr std::time_t kFolderAge = 30 * 24 * 3600;

/// What was sent last of each folder: without it the next submit would send everything again.
void add_newest_of_folders(const Context& context, std::set<std::string>& wanted) {
  const auto folder = context.paths.cache + "/stat";
  for (const auto& name : fs::entries(folder)) {
    struct stat about{};
    if (!tree::from_hex(name) || ::stat((folder + "/" + name).c_str(), &about) != 0) continue;
    if (about.st_mtim.tv_sec + kFolderAge < fs::walltime_us() / 1'000'000) continue;
    const auto cache = snapshot::StatCache::open(folder + "/" + name, own_store(context));
    if (cache.root()) wanted.insert(tree::to_hex(*cache.root()));
  }
}

Result<std::set<std::string>> wanted_snapshots(Context& context) {
  std::set<std::string> wanted;
  TRY(const auto uses, snapshot_uses(context));
  for (const auto& [id, use] : uses) wanted.insert(id);
  add_newest_of_folders(context, wanted);
  return wanted;
}

Result<std::uint64_t> size_of(BlobStore& blobs) {
  std::uint64_t size = 0;
  TRY_VOID(blobs.list("v1/", [&](const BlobInfo& info) {
    size += info.size;
    return true;
  }));
  return size;
}

Result<Pruned> prune_store(Context& context) {
  if (!fs::exists(context.paths.state + "/chunks")) return Pruned();
  TRY(const auto blobs, open_blob_store(own_store(context)));
  TRY(const auto before, size_of(*blobs));
  // Asked when the store is held alone: whoever sent before has its job in the list, or a pin.
  std::optional<Result<std::set<std::string>>> wanted;
  const auto collected = snapshot::collect(*blobs, [&](const tree::Hash& id) {
    if (!wanted) wanted = wanted_snapshots(context);
    return !*wanted || (*wanted)->contains(tree::to_hex(id));
  });
  // Nothing was removed then: what is not known to be unwanted stays.
  if (wanted && !*wanted) return tl::unexpected<Error>(wanted->error());
  if (!collected) return tl::unexpected<Error>(collected.error());
  // What lives on in packs that were written anew is not freed.
  TRY(const auto after, size_of(*blobs));
  return Pruned{.snapshots = collected->trees, .bytes = before > after ? before - after : 0};
}

}  // namespace

Result<Pruned> prune_snapshots(Context& context) {
  TRY(auto pruned, prune_store(context));
  TRY(pruned.trees, snapshot::remove_idle_trees(context.paths.state + "/trees", kTreeAge,
                                                [&] { return live_snapshots(context); }));
  return pruned;
}

}  // namespace muster
