/// The rights muster needs on a cluster, in three pieces (docs/reference/kubernetes.md, Rights): as
/// values that can be asked for one by one, and as the documents that grant them. Whoever runs the
/// cluster applies those; nothing else is ever asked of it. Pure; any thread.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace muster::render {

/// Some verbs on one sort of objects.
struct Right {
  std::string group;  // "" is the core group
  std::string resource;
  std::string part;   // "log" of pods
  std::string name;   // this object only; empty: all of them
  std::string space;  // where, if not in the jobs' namespace; only with `name`
  std::vector<std::string> verbs;
};

struct Role {
  std::string name;
  bool is_everywhere = false;  // a ClusterRole: what it names has no namespace, or another one
  bool is_needed = false;      // no job runs without it
  std::string gives;           // what there is with it, in words
  std::vector<Right> rights;
};

/// muster-jobs, muster-exec, muster-nodes.
const std::vector<Role>& shipped_roles();

struct RolesFor {
  std::string space;               // the jobs' namespace; empty: the one kubectl is told
  std::string account;             // a service account of it that gets the roles; empty: nobody
  std::vector<std::string> names;  // of roles; empty: all
};
/// JSON, one document each: the roles, then what binds them. A name that is none is `not_found`.
Result<std::vector<std::string>> role_documents(const RolesFor& wanted);

/// "pods/log", "jobs.batch", as kubectl calls it.
std::string to_text(const Right& right);

}  // namespace muster::render
