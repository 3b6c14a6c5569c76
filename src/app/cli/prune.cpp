#include "app/cli/prune.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <set>

#include "app/cli/output.hpp"
#include "app/cli/own_snapshots.hpp"
#include "app/cli/take_code.hpp"
#include "core/model/json.hpp"
#include "edge/blob/open.hpp"
#include "edge/fs/disk.hpp"
#include "edge/fs/files.hpp"
#include "edge/fs/links.hpp"
#include "edge/process/node_setup.hpp"
#include "edge/tree/collect.hpp"
#include "edge/tree/names.hpp"
#include "edge/tree/stat_cache.hpp"

namespace muster {
namespace {

/// How long something was not used before it goes. A Python environment costs more to make again.
struct Ages {
  Duration trees, venvs;
};
constexpr Ages kAsked{std::chrono::hours(1), std::chrono::hours(24)};
constexpr Ages kByItself{std::chrono::hours(7 * 24), std::chrono::hours(30 * 24)};
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

/// Without being alone in the store: whether there is anything to do at all.
Result<bool> has_unwanted(Context& context, BlobStore& blobs) {
  TRY(const auto wanted, wanted_snapshots(context));
  bool is_found = false;
  TRY_VOID(blobs.list("v1/trees/", [&](const BlobInfo& info) {
    const auto id = snapshot::hash_in_name(info.name);
    is_found = !id || !wanted.contains(tree::to_hex(*id));
    return !is_found;
  }));
  return is_found;
}

Result<Pruned> prune_store(Context& context, Pruning how) {
  if (!fs::exists(context.paths.state + "/chunks")) return Pruned();
  TRY(const auto blobs, open_blob_store(own_store(context)));
  if (how == Pruning::by_server) {
    // Submits wait while the store is held: not for nothing, every day.
    TRY(const bool is_worth_it, has_unwanted(context, *blobs));
    if (!is_worth_it) return Pruned();
  }
  TRY(const auto before, size_of(*blobs));
  // Asked when the store is held: whoever sent before has its job in the list, or a pin.
  std::optional<Result<std::set<std::string>>> wanted;
  const auto collected = snapshot::collect(
      *blobs,
      [&](const tree::Hash& id) {
        if (!wanted) wanted = wanted_snapshots(context);
        return !*wanted || (*wanted)->contains(tree::to_hex(id));
      },
      how == Pruning::only_told ? snapshot::Removing::only_told : snapshot::Removing::really);
  // Nothing was removed then: what is not known to be unwanted stays.
  if (wanted && !*wanted) return tl::unexpected<Error>(wanted->error());
  if (!collected) return tl::unexpected<Error>(collected.error());
  if (!collected->damage.empty())
    warn(context,
         fmt::format("the store is damaged, so its packs stay as they are: {}; what is lost: "
                     "muster snapshot verify",
                     collected->damage));
  Pruned pruned;
  pruned.snapshots = collected->trees;
  pruned.bytes = collected->bytes;
  if (how == Pruning::only_told) return pruned;
  // What lives on in packs that were written anew is not freed.
  TRY(const auto after, size_of(*blobs));
  pruned.bytes = before > after ? before - after : 0;
  return pruned;
}

/// By the link that an attempt has to its environment before it uses it.
void add_venvs_of(const std::string& job_dir, std::set<std::string>& names) {
  for (const auto& attempt : fs::entries(job_dir))
    for (const auto& node : fs::entries(job_dir + "/" + attempt)) {
      const auto link = fmt::format("{}/{}/{}/{}", job_dir, attempt, node, process::kSetupVenv);
      const auto path = fs::link_target(link);
      if (!path.empty()) names.insert(path.substr(path.rfind('/') + 1));
    }
}

Result<std::set<std::string>> live_venvs(Context& context) {
  TRY(const auto jobs, live_jobs(context));
  std::set<std::string> names;
  for (const auto& id : jobs) add_venvs_of(context.paths.state + "/jobs/" + id, names);
  return names;
}

Result<> write_record(const Context& context, const Pruned& pruned, Pruning how) {
  const json::object out{{"v", 1},
                         {"by", how == Pruning::by_server ? "server" : "hand"},
                         {"snapshots", pruned.snapshots},
                         {"trees", pruned.trees.folders},
                         {"venvs", pruned.venvs.folders},
                         {"bytes", pruned.all_bytes()}};
  return fs::write_whole(record_file(context.paths.state), json::serialize(out));
}

}  // namespace

std::string record_file(const std::string& home) { return home + "/collected.json"; }

Result<Pruned> prune_snapshots(Context& context, Pruning how) {
  const auto& home = context.paths.state;
  const bool is_patient = how == Pruning::by_server && !fs::disk_room(home).is_low();
  const auto ages = is_patient ? kByItself : kAsked;
  const auto removing =
      how == Pruning::only_told ? snapshot::Removing::only_told : snapshot::Removing::really;
  TRY(auto pruned, prune_store(context, how));
  TRY(pruned.trees,
      snapshot::remove_idle_trees(
          home + "/trees", ages.trees, [&] { return live_snapshots(context); }, removing));
  TRY(pruned.venvs,
      snapshot::remove_idle_venvs(
          home + "/venvs", ages.venvs, [&] { return live_venvs(context); }, removing));
  // A home that is not there has nothing to tell of.
  if (how != Pruning::only_told && fs::exists(home)) TRY_VOID(write_record(context, pruned, how));
  return pruned;
}

}  // namespace muster
