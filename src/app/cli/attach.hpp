/// cluster attach: a cluster is looked at, and what was found becomes a profile of the user's
/// config.yaml. One thread.
#pragma once
#include <string>

#include "app/cli/context.hpp"

namespace muster {

struct AttachOptions {
  std::string name;         // of the profile
  std::string context;      // empty: the kubeconfig's current one
  std::string kubeconfig;   // empty: where kubectl finds it
  std::string space;        // empty: the context's
  std::string image;        // what jobs run in
  std::string agent_image;  // where pods get muster from; empty: the same
  bool is_forced = false;   // also over a profile of that name, also when checks fail
  bool is_dry = false;      // print the profile, write nothing
};

/// 0 when the profile is written (or printed), 1 when checks failed and nothing was written.
Result<int> attach_cluster(Context& context, const AttachOptions& options);

}  // namespace muster
