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

/// How the code gets into the pods (docs/design/0007-kubernetes.md). `none`: there is no code.
/// `store` and `claim` mount the claim of the job's settings: with what is there already, and with
/// what a stream into the first pod brings. `server`: pods ask the server.
enum class CodeFrom : std::uint8_t { none, store, server, secret, claim, stream };

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

/// What the plan says about where the code is; empty: where the agent looks by itself.
/// `served_at` is where pods reach the server.
std::string code_address(CodeFrom from, std::string_view served_at = {});
/// By its size once it is packed, where nobody has a better way: `secret`, `claim` or `stream`.
CodeFrom code_by_size(std::uint64_t bytes, const PodSettings& settings);

/// Where objects of this sort live: "/apis/batch/v1/namespaces/NS/jobs".
std::string collection_path(const Object& object, std::string_view name_space);
/// A merge patch that makes the Job the owner of a Secret or a Service, which then go with it.
std::string owner_patch(std::string_view job_name, std::string_view job_uid);

/// What `automatic` means in a namespace, by its label.
PodSecurity security_in(PodSecurity asked, std::string_view enforced);

/// Of the Job: how its code comes.
constexpr const char* kCodeAnnotation = "muster.dev/code";
constexpr const char* kEnforceLabel = "pod-security.kubernetes.io/enforce";

/// Code up to this size rides in a Secret, which holds 1 MiB at most, base64 not counted.
constexpr std::size_t kLargestSecretCode = std::size_t{900} * 1024;

// Where the agent finds things in its container.
constexpr const char* kSharedDir = "/muster";
constexpr const char* kAgentInPod = "/muster/bin/muster";
/// What the agent is asked to learn whether the ranks have begun.
constexpr const char* kBegunWord = "begun";
constexpr const char* kPlanDir = "/muster/plan";
constexpr const char* kPlanFile = "/muster/plan/plan";
constexpr const char* kCodeSecretDir = "/muster/code-secret";
constexpr const char* kCodeDir = "/muster/code";
// The containers of a pod.
constexpr const char* kMainContainer = "main";
constexpr const char* kAgentContainer = "agent";
constexpr const char* kCodeContainer = "code";

}  // namespace muster::render

namespace muster {

template <>
std::span<const Named<render::CodeFrom>> names<render::CodeFrom>();

}  // namespace muster
