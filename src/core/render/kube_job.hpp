/// An attempt as Kubernetes objects: Secrets, headless Service, one Indexed Job whose pods are the
/// attempt's nodes (docs/design/0007-kubernetes.md). Equal input, equal bytes. Pure; any thread.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "core/model/job.hpp"

namespace muster::render {

/// How the code gets into the pods. `none`: it needs no object (no code, or a claim or a store that
/// the plan names).
enum class CodeFrom : std::uint8_t { none, secret, stream };

struct Rendering {
  const JobSpec& spec;  // with `pod`
  AttemptRef ref;
  std::string home_id;
  std::string
      plan_bytes;  // as the agent reads it; argv and environment are in there, and only there
  std::string code_bytes;  // of CodeFrom::secret
  CodeFrom code = CodeFrom::none;
  std::string enforced;  // the namespace's label kEnforceLabel; empty: it has none
};

struct Object {
  std::string kind;      // "Secret"
  std::string api;       // "v1", "batch/v1"
  std::string resource;  // "secrets": its part in a path
  std::string name;
  std::string json;
};

/// In the order of creation: Secret(s), Service, Job. Fails when a Secret would be too large.
Result<std::vector<Object>> render(const Rendering& rendering);

/// Where objects of this sort live: "/apis/batch/v1/namespaces/NS/jobs".
std::string collection_path(const Object& object, std::string_view name_space);
/// A merge patch that makes the Job the owner of a Secret or a Service, which then go with it.
std::string owner_patch(std::string_view job_name, std::string_view job_uid);

/// What `automatic` means in a namespace, by its label.
PodSecurity security_in(PodSecurity asked, std::string_view enforced);

constexpr const char* kEnforceLabel = "pod-security.kubernetes.io/enforce";

/// Code up to this size rides in a Secret, which holds 1 MiB at most, base64 not counted.
constexpr std::size_t kLargestSecretCode = std::size_t{900} * 1024;

// Where the agent finds things in its container.
constexpr const char* kSharedDir = "/muster";
constexpr const char* kAgentInPod = "/muster/bin/muster";
constexpr const char* kPlanDir = "/muster/plan";
constexpr const char* kPlanFile = "/muster/plan/plan";
constexpr const char* kCodeSecretDir = "/muster/code-secret";
constexpr const char* kCodeDir = "/muster/code";
// The containers of a pod.
constexpr const char* kMainContainer = "main";
constexpr const char* kAgentContainer = "agent";
constexpr const char* kCodeContainer = "code";

}  // namespace muster::render
