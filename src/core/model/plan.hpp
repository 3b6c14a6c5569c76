/// How an attempt is to be run: ranks, environment, launch lines. The same on every backend.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/model/job.hpp"

namespace muster {

/// Byte strings in order, as execve takes them; names are unique.
using Environment = std::map<std::string, std::string>;

struct RankPlan {
  int rank = 0;
  int local_rank = 0;
  Environment env;  // on top of the plan's
};

struct NodePlan {
  int index = 0;
  Placement placement;
  std::vector<RankPlan> ranks;
};

/// The working folder of a job with a snapshot: made for each attempt and node.
struct FolderPlan {
  std::string snapshot;                      // empty: the plan's `dir`, in place
  std::string store;                         // where the snapshot is
  std::string token;                         // shown to whoever gives it out over the network
  std::string trees;                         // where restored ones are kept
  std::string name;                          // what the folder is called, as the person's own
  std::string below;                         // the working folder inside it
  std::map<std::string, std::string> links;  // name at the top -> where it leads
  std::string setup;                         // see Code
  std::string requirements;
  std::string venvs;  // where Python environments are kept
  Keep keep = Keep::all;
};

struct Plan {
  AttemptRef ref;
  std::int64_t epoch = 0;
  std::vector<std::string> argv;
  std::string dir;
  FolderPlan folder;
  Environment env;
  std::vector<NodePlan> nodes;
  Duration time_limit{0};
  Duration grace{0};
  SignalTo signal_to = SignalTo::main;
  Bytes memory_limit;  // 0: none of its own
  int umask = 022;
  int nice = 0;
  std::map<std::string, std::int64_t> limits;
  std::vector<std::string> folders;  // made (0700) before anything runs: checkpoint, outputs
};

}  // namespace muster
