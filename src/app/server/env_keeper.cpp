#include "app/server/env_keeper.hpp"

namespace muster::server {

void EnvKeeper::attach(Readers& readers, EnvStore& envs, const std::vector<std::string>& present) {
  readers_ = &readers;
  envs_ = &envs;
  candidates_.insert(present.begin(), present.end());
}

void EnvKeeper::note(const std::vector<Job>& changed) {
  const std::lock_guard lock(mutex_);
  for (const auto& job : changed)
    if (is_final(job.state)) candidates_.insert(job.env_id);
}

void EnvKeeper::sweep() {
  std::set<std::string> mine;
  {
    const std::lock_guard lock(mutex_);
    std::swap(mine, candidates_);
  }
  if (mine.empty()) return;
  readers_->run(
      [this, mine](Records& records) {
        for (const auto& id : mine) {
          const auto is_used = records.env_in_use(id);
          if (is_used && *is_used) continue;  // the last job that needs it will name it again
          const auto dropped = is_used ? envs_->drop(id) : Result<bool>(false);
          if (dropped && *dropped) continue;
          const std::lock_guard lock(mutex_);
          candidates_.insert(id);
        }
      },
      [](const Error&) {});
}

}  // namespace muster::server
