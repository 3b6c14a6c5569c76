/// The code of an attempt on its way to a cluster: which way it takes, and what that way needs of
/// this machine. Blocking; a worker's thread.
#pragma once
#include <chrono>
#include <set>
#include <string>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "core/model/plan.hpp"
#include "core/render/kube_job.hpp"
#include "edge/pods/board.hpp"
#include "edge/pods/roster.hpp"

namespace muster::pods {

struct Code {
  render::CodeFrom from = render::CodeFrom::none;
  std::string bytes;  // of a Secret
};

struct CodePlaces {
  std::string home;
  std::string served_at;  // where pods reach this server; empty: nowhere
};

/// Chooses the first way that fits and does what must be done before the Job is made: what goes
/// into a store is there when it returns.
Result<Code> prepare_code(const FolderPlan& folder, const PodSettings& settings,
                          const CodePlaces& places);

/// The whole bundle of a snapshot in a file without a name.
Result<UniqueFd> bundle_of(const std::string& snapshot, const std::string& home);

/// The pods of an attempt that are to get a stream now: the first, when it waits for its code. The
/// others ask that one; those that still wait long after it began to run cannot reach it.
std::set<std::string> pods_to_send(const Group& group, const Member& member,
                                   std::chrono::steady_clock::time_point now);

/// What the tokens of a home's attempts are made from; made when it is not there.
Result<std::string> attempt_key(const std::string& home);
/// The same for the same attempt, whichever server asks.
std::string attempt_token(std::string_view key, std::string_view attempt);

}  // namespace muster::pods
