#include "edge/process/job_folder.hpp"

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.hpp"
#include "edge/blob/open.hpp"
#include "edge/fs/files.hpp"
#include "edge/fs/remove_tree.hpp"
#include "edge/process/node_setup.hpp"
#include "edge/tree/copy.hpp"
#include "edge/tree/overlay.hpp"
#include "edge/tree/restore.hpp"

namespace muster::process {
namespace {

Result<> restore_shared(const FolderPlan& plan) {
  const auto id = tree::from_hex(plan.snapshot);
  if (!id) return fail(Kind::corrupt, fmt::format("not a snapshot: {}", printable(plan.snapshot)));
  TRY(const auto blobs, open_blob_store(plan.store));
  TRY_VOID(snapshot::restore_once(*blobs, *id, plan.trees));
  return {};
}

}  // namespace

JobFolder::JobFolder(std::string attempt_dir, const Plan& plan)
    : base_(std::move(attempt_dir)),
      plan_(plan.folder),
      env_(plan.env),
      setup_limit_(plan.time_limit) {}

std::optional<JobFolder::Step> JobFolder::first_step() const {
  return [plan = plan_] { return restore_shared(plan); };
}

std::optional<JobFolder::Step> JobFolder::setup_step() const {
  if (plan_.setup.empty() && plan_.requirements.empty()) return std::nullopt;
  return [plan = plan_, env = env_, base = base_, limit = setup_limit_] {
    return set_up(plan, env, base, limit);
  };
}

std::string_view JobFolder::doing() const {
  switch (stage_) {
    case Stage::restored: return "code";
    case Stage::set_up: return "setup";
    default: return "copy";
  }
}

Result<std::optional<JobFolder::Step>> JobFolder::next_step() {
  const auto up = base_ + "/up", work = base_ + "/wk", dir = folder();
  if (stage_ == Stage::restored) {
    stage_ = Stage::set_up;
    if (auto step = setup_step()) return step;
  }
  if (stage_ == Stage::set_up) {
    for (const auto& folder : {up, work, dir}) TRY_VOID(fs::make_dirs(folder));
    const auto mounted = snapshot::mount_overlay({prepared_tree(plan_, env_), up, work, dir});
    is_mounted_ = mounted.has_value();
    // Jobs share these: what one of them installs or breaks must not reach the next.
    if (is_mounted_)
      for (const auto& shared : {prepared_tree(plan_, env_), setup_venv(base_)})
        snapshot::make_read_only(shared);
    stage_ = is_mounted_ ? Stage::ready : Stage::copied;
    if (!is_mounted_) {
      // Whoever looks later sees by its absence that there was no overlay.
      ::rmdir(up.c_str());
      ::rmdir(work.c_str());
      return std::optional<Step>([from = prepared_tree(plan_, env_), dir]() -> Result<> {
        TRY_VOID(snapshot::copy_tree(from, dir));
        return {};
      });
    }
  }
  stage_ = Stage::ready;
  TRY_VOID(make_links());
  return std::optional<Step>();
}

/// What ignore rules left out is not copied: the job sees the person's own.
Result<> JobFolder::make_links() const {
  for (const auto& [name, target] : plan_.links) {
    const auto at = folder() + "/" + name;
    if (::symlink(target.c_str(), at.c_str()) != 0 && errno != EEXIST)
      return fail_errno(fmt::format("cannot link {}", printable(name)), errno);
  }
  return {};
}

std::string JobFolder::working_folder() const {
  return plan_.below.empty() ? folder() : folder() + "/" + plan_.below;
}

void JobFolder::leave(Keep keep) {
  if (plan_.snapshot.empty()) return;
  if (is_mounted_) ::umount2(folder().c_str(), MNT_DETACH);
  // The kernel leaves a folder in here that its owner may not even list.
  fs::remove_tree(base_ + "/wk");
  if (is_mounted_) fs::remove_tree(base_ + "/dir");
  if (keep == Keep::all) return;
  fs::remove_tree(base_ + "/up");
  fs::remove_tree(base_ + "/dir");
}

}  // namespace muster::process
