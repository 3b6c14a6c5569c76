/// What a cluster can do: its version, and the kinds of objects it knows. Runs on the Api's thread.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "edge/kube/api.hpp"

namespace muster::kube {

struct ServerVersion {
  int major = 0;
  int minor = 0;
  std::string text;  // "v1.36.4"
};
ApiResult<ServerVersion> server_version(Api& api);

struct KnownResource {
  Resource resource;
  std::string kind;
  bool is_namespaced = true;
};

struct Discovery {
  std::vector<KnownResource> resources;  // by group, then version; the preferred version first
  std::vector<std::string> stale;        // group/version whose server does not answer

  const KnownResource* find(std::string_view group, std::string_view plural) const;
  bool has(const Resource& resource) const;
};
/// Two requests where the server aggregates, one more for each group and version where it does not.
ApiResult<Discovery> discover(Api& api);

/// The groups of one aggregated answer, added to what is known. Pure.
Result<> read_aggregated(std::string_view text, Discovery& into);

}  // namespace muster::kube
