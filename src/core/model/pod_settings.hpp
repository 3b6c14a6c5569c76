/// What a job on Kubernetes needs besides its size: image, rights, where its pods may go. Resolved
/// at submit from profile and flags, part of the job's specification, never changed after.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "core/model/names.hpp"

namespace muster {

/// Which of the pod security standards the pods keep. `automatic`: what the namespace enforces.
enum class PodSecurity : std::uint8_t { automatic, restricted, baseline, image };
template <>
std::span<const Named<PodSecurity>> names<PodSecurity>();

/// Nodes that may be taken away at any time: not those, rather those, or those alone.
enum class Spot : std::uint8_t { never, prefer, only };
template <>
std::span<const Named<Spot>> names<Spot>();

/// A taint that is put up with. Without a value: whatever the value; without an effect: every
/// effect; without a key: every taint.
struct Toleration {
  std::string key;
  std::string value;
  std::string effect;
  auto operator<=>(const Toleration&) const = default;
};

/// A volume claim of the namespace, and where the job finds it.
struct ClaimMount {
  std::string claim;
  std::string path;
  bool is_read_only = false;
  auto operator<=>(const ClaimMount&) const = default;
};

/// Where jobs find their code: a claim of the namespace that every pod mounts. `folder` is where
/// this machine sees the same volume; without one, code goes there through a pod.
struct CodeStore {
  std::string claim;
  std::string folder;
  auto operator<=>(const CodeStore&) const = default;
};

struct PodSettings {
  std::string image;
  std::string agent_image;  // holds muster at kAgentProgram; never empty once resolved
  std::vector<std::string> image_pull_secrets;
  std::string service_account;  // empty: the namespace's default, without a token in the pods
  /// Where it is made, as the profile said when it was submitted: a profile that is changed or
  /// removed later takes no job away.
  std::string kubeconfig;  // empty: where kubectl finds it
  std::string context;
  std::string name_space;  // empty: the context's own
  PodSecurity pod_security = PodSecurity::automatic;
  std::map<std::string, std::string> node_selector;
  std::vector<Toleration> tolerations;
  std::optional<Spot> spot;  // absent: nothing is said about it; the cluster decides
  std::string priority_class;
  Bytes shm;  // size of /dev/shm, out of the job's memory; never 0 once resolved
  std::string gpu_resource = "nvidia.com/gpu";
  std::map<std::string, std::int64_t> resources;  // others, on each node: {"rdma/ib": 8}
  std::vector<ClaimMount> volumes;
  std::optional<CodeStore> store;
  auto operator<=>(const PodSettings&) const = default;
};

/// Where an agent image has muster. Not /muster: that is where its shared folder goes.
constexpr const char* kAgentProgram = "/bin/muster";

}  // namespace muster
