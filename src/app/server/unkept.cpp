#include "app/server/unkept.hpp"

#include "edge/fs/files.hpp"
#include "edge/fs/remove_tree.hpp"

namespace muster::server {

void Unkept::attach(Readers& readers) {
  readers_ = &readers;
  readers_->run([this](Records& records) { look_back(records); }, [](const Error&) {});
}

/// Twice: who ends after the first look is known by then and noted, who ended before is seen by the
/// second.
void Unkept::look_back(Records& records) {
  for (int look = 0; look < 2; ++look) {
    const auto jobs = records.keeping_nothing();
    if (!jobs) return;
    for (const auto& job : *jobs) {
      if (is_final(job.state))
        remove_outputs(job.id);
      else
        begun(job.id);
    }
  }
}

void Unkept::begun(const JobId& job) {
  const std::lock_guard lock(mutex_);
  live_.insert(job);
}

void Unkept::note(const std::vector<Job>& changed) {
  const std::lock_guard lock(mutex_);
  if (live_.empty()) return;
  for (const auto& job : changed)
    if (is_final(job.state) && live_.erase(job.id) > 0) ended_.push_back(job.id);
}

void Unkept::sweep() {
  std::vector<JobId> ended;
  {
    const std::lock_guard lock(mutex_);
    std::swap(ended, ended_);
  }
  if (ended.empty()) return;
  readers_->run(
      [this, ended](Records&) {
        for (const auto& job : ended) remove_outputs(job);
      },
      [](const Error&) {});
}

void Unkept::remove_outputs(const JobId& job) const {
  const auto outputs = home_ + "/jobs/" + job.str() + "/outputs";
  if (fs::exists(outputs)) fs::remove_tree(outputs);
}

}  // namespace muster::server
