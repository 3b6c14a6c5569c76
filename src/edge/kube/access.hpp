/// What we may do on a cluster, asked of the cluster itself. Runs on the Api's thread.
#pragma once
#include <string>
#include <vector>

#include "edge/kube/api.hpp"

namespace muster::kube {

struct Wish {
  std::string verb;  // "create"
  Resource resource;
  std::string part;   // "exec" of pods
  std::string space;  // empty: in all namespaces
  std::string name;   // one object only
};

struct Permission {
  bool is_allowed = false;
  std::string reason;  // the cluster's, if it gives one
};
ApiResult<Permission> may(Api& api, const Wish& wish);

/// One rule of what is allowed in a namespace; "*" stands for all.
struct AccessRule {
  std::vector<std::string> verbs;
  std::vector<std::string> groups;
  std::vector<std::string> resources;
  std::vector<std::string> names;
};
struct AccessRules {
  std::vector<AccessRule> rules;
  bool is_incomplete = false;  // the cluster has rules that cannot be listed
};
ApiResult<AccessRules> access_rules(Api& api, const std::string& space);

}  // namespace muster::kube
