#include "app/server/equip.hpp"

#include <sys/stat.h>

#include "base/text.hpp"
#include "core/plan/plan.hpp"
#include "core/render/in_pod.hpp"
#include "edge/fs/files.hpp"
#include "edge/fs/secrets.hpp"

namespace muster::server {
namespace {

bool is_complete(std::string_view name) {
  return !name.starts_with('.') && !name.ends_with(".tmp") && !name.ends_with(".partial");
}

plan::Surroundings on_this_machine(const Launch& launch, const Places& places) {
  return {.home_id = places.home_id,
          .master_addr = "127.0.0.1",
          .job_dir = fmt::format("{}/jobs/{}", places.home, launch.ref.job.str()),
          .tools_dir = places.tools_dir,
          .store = "file://" + places.home + "/chunks",
          .trees = places.home + "/trees",
          .venvs = places.home + "/venvs"};
}

}  // namespace

// Only here, on its way to the job, a reference becomes the value it stands for.
Result<> reveal(Environment& env, const std::string& home) {
  const fs::Secrets secrets(home + "/secrets");
  for (auto& [name, value] : env) {
    const auto secret = fs::secret_ref(value);
    if (!secret) continue;
    TRY(value, within(secrets.get(*secret), fmt::format("variable {}", printable(name))));
  }
  return {};
}

std::string newest_checkpoint(const std::string& dir) {
  std::string newest;
  timespec best{};
  for (const auto& name : fs::entries(dir)) {
    struct stat status{};
    const std::string path = dir + "/" + name;
    if (!is_complete(name) || ::stat(path.c_str(), &status) != 0) continue;
    const auto& at = status.st_mtim;
    const bool is_newer = newest.empty() || at.tv_sec > best.tv_sec ||
                          (at.tv_sec == best.tv_sec && at.tv_nsec >= best.tv_nsec);
    if (!is_newer) continue;
    newest = path;
    best = at;
  }
  return newest;
}

driver::Equip make_equip(Store& store, const EnvStore& envs, Places places) {
  return [&store, &envs,
          places = std::move(places)](const Launch& launch) -> Result<driver::Equipment> {
    TRY(const auto spec, store.spec(launch.ref.seq));
    auto around =
        spec.pod ? render::in_pod(launch.ref, places.home_id) : on_this_machine(launch, places);
    TRY(around.env, envs.get(spec.env_id));
    TRY_VOID(reveal(around.env, places.home));
    if (launch.ref.attempt > 1) {
      if (!spec.pod) around.resume_from = newest_checkpoint(around.job_dir + "/checkpoint");
      TRY(const auto job, store.job(launch.ref.seq));
      if (job) around.previous = job->cause;
    }
    return driver::Equipment{.plan = std::make_shared<const Plan>(
                                 plan::make_plan(spec, launch, launch.ref.attempt, around)),
                             .spec = std::make_shared<const JobSpec>(spec)};
  };
}

}  // namespace muster::server
