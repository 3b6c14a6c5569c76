/// What is still to be done to the cluster, one wish per attempt: later words replace or join
/// earlier ones, so a cluster that is away for an hour finds a short list. Thread-safe; several
/// workers never hold the same attempt.
#pragma once
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/model/action.hpp"

namespace muster::pods {

struct Wish {
  AttemptRef ref;
  std::optional<Launch> launch;
  std::optional<Stop> stop;
  std::set<int> acknowledged;
  std::vector<int> signals;
  std::set<std::string> code_for;  // pods that wait for their code
  bool is_orphan = false;          // nobody knows it any more: take it away
  bool is_sought = false;          // what the watches do not show of it is asked for
  int tries = 0;
  bool has_more_than_seeking() const {
    return launch || stop || !acknowledged.empty() || !signals.empty() || !code_for.empty() ||
           is_orphan;
  }
  bool is_empty() const { return !is_sought && !has_more_than_seeking(); }
};

class Wishes {
 public:
  /// Joined to what is wished for this attempt already.
  void add(const std::string& name, Wish wish);
  /// The next one that is due, held until `done`; nothing when it is over.
  struct Held {
    std::string name;
    Wish wish;
  };
  std::optional<Held> take();
  /// `left` is what could not be done: it comes again after a pause that grows.
  void done(const std::string& name, Wish left);
  void stop();
  /// Whether a launch of it waits or is under way.
  bool is_launching(const std::string& name) const;

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Waiting {
    Wish wish;
    Time due;
  };
  std::map<std::string, Waiting>::iterator next_due(Time now, std::optional<Time>& earliest);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Waiting> waiting_;
  std::map<std::string, bool> held_;  // name -> whether it holds a launch
  bool is_over_ = false;
};

}  // namespace muster::pods
