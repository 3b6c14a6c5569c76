/// What is known of our Jobs and pods in one cluster: one small row each, kept by the watches.
/// Complete means that both watches have told everything there is; before that nothing may be
/// concluded from what is missing. News may come twice, late or out of order: the newest state of
/// an object stands, and what is gone stays gone. Thread-safe.
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "edge/pods/pod_row.hpp"

namespace muster::pods {

/// A Job and its pods as they were last seen.
struct Group {
  std::optional<JobRow> job;
  std::vector<PodRow> pods;
  const PodRow* pod(int index) const;
};

/// A row and the list that named it last.
template <class Row>
struct Kept {
  Row row;
  std::uint64_t seen = 0;
};

class Board {
 public:
  enum Kind : std::uint8_t { jobs = 0, pods = 1 };

  /// A list begins; rows that it has not named by `synced` are missed: they may be gone, or the
  /// list may be wrong. Gives the names of the Jobs that have such rows.
  void begin(Kind kind);
  std::vector<std::string> synced(Kind kind);
  void trouble(Kind kind, std::string why);
  /// The watch is whole, whether or not it has news.
  void heard(Kind kind);
  /// The server's versions have gone back: nothing that is known is newer than what comes.
  void set_back(Kind kind);

  /// Whether the pod is one that our Job's controller made. What was known as such stays so:
  /// whoever deletes a Job and leaves its pods takes this off them.
  bool is_ours(const PodRow& row) const;
  /// False when it says nothing new, or something older than what is known.
  bool put(JobRow row);
  bool put(PodRow row);
  /// The object is no more, or no more ours. A pod's last state stays until its end is committed.
  void remove_job(const JobRow& row);
  void remove_pod(const PodRow& row);

  Group group(const std::string& job) const;
  std::vector<std::string> job_names() const;
  /// Why nothing can be concluded from absence, or empty.
  std::string blindness() const;
  /// Forgets the pods that are gone, once their end is committed.
  void forget(const std::string& job);

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Source {
    bool is_synced = false;
    std::uint64_t generation = 0;
    std::string why;  // trouble, and since when
    std::optional<Time> since;
  };
  struct Entry {
    std::optional<Kept<JobRow>> job;
    std::map<std::string, Kept<PodRow>> pods;  // by name
  };
  void drop_if_empty(const std::string& job);
  bool is_buried(const std::string& uid, std::uint64_t version);
  void bury(const std::string& uid, std::uint64_t version);

  mutable std::mutex mutex_;
  Source sources_[2];
  std::map<std::string, Entry> entries_;  // by the Job's name
  // Objects that are gone, by uid, and at which version: old news of them may still come.
  std::unordered_map<std::string, std::uint64_t> buried_;
  std::deque<std::pair<Time, std::string>> burials_;
};

}  // namespace muster::pods
