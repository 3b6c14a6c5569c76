/// A cluster looked at from outside: who answers, what we may do there, what jobs would find. Asks
/// only, changes nothing. What could not be asked for carries its own refusal beside what could.
/// Runs on the Api's thread.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "core/render/roles.hpp"
#include "edge/kube/api.hpp"
#include "edge/kube/discovery.hpp"

namespace muster::kube {

/// One verb of a shipped role that we do not have.
struct Lack {
  std::string role;
  render::Right right;
  std::string verb;
};

struct SurveyedNode {
  std::string name;
  std::string type;  // the provider's word for its size
  std::string zone;
  MilliCpus cpus;  // what pods may have of it
  Bytes memory;
  std::map<std::string, std::int64_t> devices;  // "nvidia.com/gpu": 8
  std::vector<std::string> taints;              // "sku=gpu:NoSchedule", as a profile tolerates them
  bool is_ready = false;
  bool is_open = true;  // takes new pods
  bool is_spot = false;
};

struct StorageClass {
  std::string name;
  std::string provisioner;
  bool is_default = false;
};

/// A volume that pods of the namespace can mount.
struct Claim {
  std::string name;
  std::string phase;  // "Bound"
  std::string size;
  std::vector<std::string> modes;  // "ReadWriteMany"
};

struct Dns {
  bool is_there = false;     // its Service
  std::optional<int> ready;  // servers behind it, where that may be seen
};

struct Survey {
  ServerVersion version;
  std::vector<Lack> lacks;
  ApiResult<std::string> enforced;  // the namespace's pod security; empty: none
  ApiResult<Dns> dns;
  ApiResult<std::vector<StorageClass>> classes;
  ApiResult<std::vector<Claim>> claims;
  ApiResult<std::vector<SurveyedNode>> nodes;
};

/// An error when nobody answers, or not to us.
ApiResult<Survey> survey(Api& api, const std::string& space);

/// One node of a list. Pure.
SurveyedNode read_node(const boost::json::object& node);

}  // namespace muster::kube
