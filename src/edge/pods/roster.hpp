/// The attempts this server has to do with in one cluster, and what is remembered of each beside
/// what the cluster shows. Thread-safe.
#pragma once
#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/model/observation.hpp"
#include "edge/http/same_token.hpp"

namespace muster::pods {

/// A refusal that waiting does not change.
struct Refusal {
  Cause cause = Cause::never_started;
  std::string evidence;
};

struct Member {
  AttemptRef ref;
  int nodes = 1;
  int ranks_per_node = 0;              // 0: the server that launched it did not write it down
  bool was_created = false;            // its Job was there once, and owns the other objects
  bool is_absent = false;              // the cluster was asked for its Job and has none
  std::string snapshot;                // of its code
  std::string token;                   // what its pods show to get that
  std::string stop_why;                // asked for in this server's life
  std::optional<Refusal> refusal;      // of its Job
  std::optional<Reason> waits_for;     // what keeps its objects or pods from being made
  std::optional<Reason> code_refused;  // why its code may not be sent into its pods
  /// When its first pod ran; the others get their code from that one.
  std::optional<std::chrono::steady_clock::time_point> first_ran;
  std::set<int> acknowledged;
  std::set<int> looked_for;  // nodes whose pod was taken away, after which the cluster was asked
  std::set<int> drawn;       // nodes whose log is as complete as it will be
  /// When the cluster is asked next about pods that are not there, and how long after that.
  std::chrono::steady_clock::time_point ask_at;
  std::chrono::seconds ask_again{3};
  Cause impasse = Cause::none;  // what it waits for in vain, and since when
  std::chrono::steady_clock::time_point impasse_since;
};

class Roster {
 public:
  /// Changes (or begins) what is known of an attempt.
  template <class Change>
  void change(const std::string& name, Change change) {
    const std::lock_guard hold(mutex_);
    change(members_[name]);
  }
  /// Changes what is known; of what was forgotten meanwhile nothing is begun.
  template <class Change>
  void amend(const std::string& name, Change change) {
    const std::lock_guard hold(mutex_);
    if (const auto found = members_.find(name); found != members_.end()) change(found->second);
  }
  std::optional<Member> find(const std::string& name) const {
    const std::lock_guard hold(mutex_);
    const auto found = members_.find(name);
    return found == members_.end() ? std::nullopt : std::optional(found->second);
  }
  bool knows(const std::string& name) const {
    const std::lock_guard hold(mutex_);
    return members_.contains(name);
  }
  std::vector<AttemptRef> refs() const {
    const std::lock_guard hold(mutex_);
    std::vector<AttemptRef> refs;
    for (const auto& [name, member] : members_) refs.push_back(member.ref);
    return refs;
  }
  /// Whether this is the token of an attempt with this snapshot of which nothing has ended yet.
  bool admits(std::string_view token, std::string_view snapshot) const {
    const std::lock_guard hold(mutex_);
    return std::any_of(members_.begin(), members_.end(), [&](const auto& one) {
      const auto& member = one.second;
      return http::is_same_token(member.token, token) && member.snapshot == snapshot &&
             !snapshot.empty() && member.acknowledged.empty() && member.stop_why.empty() &&
             !member.refusal;
    });
  }
  void forget(const std::string& name) {
    const std::lock_guard hold(mutex_);
    members_.erase(name);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Member> members_;  // by the name of its objects
};

}  // namespace muster::pods
