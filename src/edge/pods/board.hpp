/// What is known of our Jobs and pods in one cluster: one small row each, kept by the watches.
/// Complete means that both watches have told everything there is; before that nothing may be
/// concluded from what is missing. Thread-safe.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
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

  /// A list begins; rows that are not named until `synced` are gone then. Gives the names of the
  /// Jobs that changed by it.
  void begin(Kind kind);
  std::vector<std::string> synced(Kind kind);
  void trouble(Kind kind, std::string why);

  void put(JobRow row);
  /// False when it says nothing new.
  bool put(PodRow row);
  void remove_job(const std::string& name);
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

  mutable std::mutex mutex_;
  Source sources_[2];
  std::map<std::string, Entry> entries_;  // by the Job's name
};

}  // namespace muster::pods
