#include "edge/pods/board.hpp"

#include <algorithm>

namespace muster::pods {
namespace {

/// A watch that was broken for less than this is as good as whole.
constexpr auto kPatience = std::chrono::seconds(30);

bool is_same(const std::optional<Terminated>& a, const std::optional<Terminated>& b) {
  if (a.has_value() != b.has_value()) return false;
  return !a || (a->exit == b->exit && a->signal == b->signal && a->reason == b->reason &&
                a->message == b->message);
}

bool is_same(const PodRow& a, const PodRow& b) {
  const auto words = [](const PodRow& row) {
    return std::tie(row.uid, row.node, row.phase, row.is_deleting, row.is_gone, row.has_finalizer,
                    row.is_running, row.is_silent, row.wants_code, row.disruption,
                    row.status_reason);
  };
  const auto code = [](const PodRow& row) {
    return row.waits_for ? row.waits_for->code + row.waits_for->text : std::string();
  };
  return words(a) == words(b) && code(a) == code(b) && is_same(a.ended, b.ended) &&
         is_same(a.failed, b.failed);
}

}  // namespace

/// A terminal one first: it has the record. Kubernetes never replaces a pod of ours, so there is
/// one.
const PodRow* Group::pod(int index) const {
  const PodRow* best = nullptr;
  for (const auto& row : pods)
    if (row.index == index && (best == nullptr || row.is_over())) best = &row;
  return best;
}

void Board::begin(Kind kind) {
  const std::lock_guard hold(mutex_);
  ++sources_[kind].generation;
}

std::vector<std::string> Board::synced(Kind kind) {
  const std::lock_guard hold(mutex_);
  auto& source = sources_[kind];
  source.is_synced = true;
  source.why.clear();
  source.since.reset();
  std::vector<std::string> changed;
  for (auto& [name, entry] : entries_) {
    bool is_changed = false;
    if (kind == jobs && entry.job && entry.job->seen != source.generation) {
      entry.job.reset();
      is_changed = true;
    }
    if (kind == pods)
      for (auto& [pod, kept] : entry.pods)
        if (kept.seen != source.generation && !kept.row.is_gone)
          is_changed = kept.row.is_gone = true;
    if (is_changed) changed.push_back(name);
  }
  return changed;
}

void Board::trouble(Kind kind, std::string why) {
  const std::lock_guard hold(mutex_);
  auto& source = sources_[kind];
  source.why = std::move(why);
  if (!source.since) source.since = std::chrono::steady_clock::now();
}

void Board::put(JobRow row) {
  const std::lock_guard hold(mutex_);
  auto& source = sources_[jobs];
  source.since.reset();
  const auto name = row.name;
  entries_[name].job = Kept<JobRow>{std::move(row), source.generation};
}

bool Board::put(PodRow row) {
  const std::lock_guard hold(mutex_);
  auto& source = sources_[pods];
  source.since.reset();
  auto& kept = entries_[row.job].pods[row.name];
  kept.seen = source.generation;
  if (is_same(kept.row, row)) return false;
  kept.row = std::move(row);
  return true;
}

void Board::drop_if_empty(const std::string& job) {
  const auto found = entries_.find(job);
  if (found != entries_.end() && !found->second.job && found->second.pods.empty())
    entries_.erase(found);
}

void Board::remove_job(const std::string& name) {
  const std::lock_guard hold(mutex_);
  if (const auto found = entries_.find(name); found != entries_.end()) found->second.job.reset();
  drop_if_empty(name);
}

/// What was last seen of it stays until its end is committed.
void Board::remove_pod(const PodRow& row) {
  const std::lock_guard hold(mutex_);
  auto& kept = entries_[row.job].pods[row.name];
  kept.row = row;
  kept.row.is_gone = true;
}

Group Board::group(const std::string& job) const {
  const std::lock_guard hold(mutex_);
  Group group;
  const auto found = entries_.find(job);
  if (found == entries_.end()) return group;
  if (found->second.job) group.job = found->second.job->row;
  for (const auto& [name, kept] : found->second.pods) group.pods.push_back(kept.row);
  return group;
}

std::vector<std::string> Board::job_names() const {
  const std::lock_guard hold(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

std::string Board::blindness() const {
  const std::lock_guard hold(mutex_);
  for (const auto& source : sources_) {
    if (!source.is_synced)
      return source.why.empty() ? "the cluster has not answered yet" : source.why;
    if (source.since && std::chrono::steady_clock::now() - *source.since > kPatience)
      return source.why;
  }
  return "";
}

void Board::forget(const std::string& job) {
  const std::lock_guard hold(mutex_);
  const auto found = entries_.find(job);
  if (found == entries_.end()) return;
  std::erase_if(found->second.pods, [](const auto& one) { return one.second.row.is_gone; });
  drop_if_empty(job);
}

}  // namespace muster::pods
