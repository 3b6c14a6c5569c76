#include "edge/pods/board.hpp"

#include <algorithm>

namespace muster::pods {
namespace {

/// A watch that was broken for less than this is as good as whole.
constexpr auto kPatience = std::chrono::seconds(30);

/// Nobody sends news that are older than this.
constexpr auto kOldestNews = std::chrono::minutes(10);

bool is_same(const std::optional<Terminated>& a, const std::optional<Terminated>& b) {
  if (a.has_value() != b.has_value()) return false;
  return !a || (a->exit == b->exit && a->signal == b->signal && a->reason == b->reason &&
                a->message == b->message);
}

bool is_same(const PodRow& a, const PodRow& b) {
  const auto words = [](const PodRow& row) {
    return std::tie(row.uid, row.node, row.phase, row.is_deleting, row.is_gone, row.is_missed,
                    row.has_finalizer, row.is_running, row.is_starting, row.is_silent,
                    row.wants_code, row.disruption, row.status_reason);
  };
  const auto code = [](const PodRow& row) {
    return row.waits_for ? row.waits_for->code + row.waits_for->text : std::string();
  };
  return words(a) == words(b) && code(a) == code(b) && is_same(a.ended, b.ended) &&
         is_same(a.failed, b.failed);
}

template <class Row>
bool is_older(const Row& row, const Row& known) {
  return row.uid == known.uid && row.version < known.version;
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
  std::vector<std::string> missed;
  for (auto& [name, entry] : entries_) {
    bool is_missed = false;
    if (kind == jobs && entry.job && entry.job->seen != source.generation)
      is_missed = entry.job->row.is_missed = true;
    if (kind == pods)
      for (auto& [pod, kept] : entry.pods)
        if (kept.seen != source.generation && !kept.row.is_gone)
          is_missed = kept.row.is_missed = true;
    if (is_missed) missed.push_back(name);
  }
  return missed;
}

void Board::trouble(Kind kind, std::string why) {
  const std::lock_guard hold(mutex_);
  auto& source = sources_[kind];
  source.why = std::move(why);
  if (!source.since) source.since = std::chrono::steady_clock::now();
}

void Board::heard(Kind kind) {
  const std::lock_guard hold(mutex_);
  sources_[kind].since.reset();
}

void Board::set_back(Kind kind) {
  const std::lock_guard hold(mutex_);
  for (auto& [name, entry] : entries_) {
    if (kind == jobs && entry.job) entry.job->row.version = 0;
    if (kind == pods)
      for (auto& [pod, kept] : entry.pods) kept.row.version = 0;
  }
  buried_.clear();
  burials_.clear();
}

bool Board::put(JobRow row) {
  const std::lock_guard hold(mutex_);
  const auto generation = sources_[jobs].generation;
  if (is_buried(row.uid, row.version)) return false;
  auto& kept = entries_[row.name].job;
  const bool is_same = kept && kept->row.uid == row.uid && kept->row.version == row.version &&
                       row.version != 0 && !kept->row.is_missed;
  if (kept && (is_same || is_older(row, kept->row))) {
    kept->seen = generation;
    return false;
  }
  kept = Kept<JobRow>{std::move(row), generation};
  return true;
}

bool Board::is_ours(const PodRow& row) const {
  const std::lock_guard hold(mutex_);
  const auto found = entries_.find(row.job);
  if (found == entries_.end()) return !row.owner.empty();
  const auto& [job, pods] = found->second;
  const auto known = pods.find(row.name);
  if (known != pods.end() && known->second.row.uid == row.uid) return true;
  return !row.owner.empty() && (!job || job->row.uid == row.owner);
}

bool Board::put(PodRow row) {
  const std::lock_guard hold(mutex_);
  if (is_buried(row.uid, row.version)) return false;
  auto& kept = entries_[row.job].pods[row.name];
  kept.seen = sources_[pods].generation;
  if (is_older(row, kept.row)) return false;
  const bool is_news = !is_same(kept.row, row);
  kept.row = std::move(row);
  return is_news;
}

void Board::drop_if_empty(const std::string& job) {
  const auto found = entries_.find(job);
  if (found != entries_.end() && !found->second.job && found->second.pods.empty())
    entries_.erase(found);
}

/// In the state it was buried in, or a later one, it was not gone, only out of our sight: it lost
/// its labels, and the state is the one without them.
bool Board::is_buried(const std::string& uid, std::uint64_t version) {
  const auto found = buried_.find(uid);
  return found != buried_.end() && version < found->second;
}

void Board::bury(const std::string& uid, std::uint64_t version) {
  const auto now = std::chrono::steady_clock::now();
  while (!burials_.empty() && now - burials_.front().first > kOldestNews) {
    buried_.erase(burials_.front().second);
    burials_.pop_front();
  }
  if (buried_.insert_or_assign(uid, version).second) burials_.emplace_back(now, uid);
}

void Board::remove_job(const JobRow& row) {
  const std::lock_guard hold(mutex_);
  bury(row.uid, row.version);
  const auto found = entries_.find(row.name);
  if (found != entries_.end() && found->second.job && found->second.job->row.uid == row.uid)
    found->second.job.reset();
  drop_if_empty(row.name);
}

void Board::remove_pod(const PodRow& row) {
  const std::lock_guard hold(mutex_);
  const auto buried = buried_.find(row.uid);
  if (buried != buried_.end() && row.version <= buried->second) return;  // told twice
  auto& kept = entries_[row.job].pods[row.name];
  if (is_older(row, kept.row)) return;  // it has been seen since
  bury(row.uid, row.version);
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
