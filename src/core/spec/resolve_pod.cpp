#include "core/spec/pod_keys.hpp"
#include "core/spec/resolve.hpp"

namespace muster::spec {
namespace {

/// A pod without a limit takes what its neighbours need; a guess that is told is better.
constexpr Bytes kMemoryOfAProcess{std::int64_t{1} << 30};

Result<> check_elsewhere(const SubmitOptions& options, const Profile& profile) {
  if (!options.image && !options.spot) return {};
  return fail(Kind::usage,
              fmt::format("{}: \"{}\" is no Kubernetes cluster",
                          options.image ? "--image" : "--spot", profile.name),
              "leave it out, or choose a cluster of kind kube: -c NAME");
}

Result<> check_place(const SubmitOptions& options, const Profile& profile) {
  if (options.here || profile.runs_here)
    return fail(Kind::usage,
                fmt::format("{}: the pods of \"{}\" do not see this folder",
                            options.here ? "--here" : "code: here", profile.name),
                "leave it out: the job gets a snapshot of the folder");
  if (profile.context.empty() && profile.kubeconfig.empty())
    return fail(Kind::usage,
                fmt::format("it is not said where the cluster \"{}\" is", profile.name),
                fmt::format("set clusters.{}.context to one of: kubectl config get-contexts",
                            profile.name));
  if (!options.image && profile.pod.image.empty())
    return fail(Kind::usage, "it is not said which image the job runs in",
                fmt::format("--image IMAGE, or set clusters.{}.image", profile.name));
  return {};
}

Result<> fill_shm(PodSettings& pod, Bytes memory) {
  if (pod.shm.count == 0) pod.shm = std::max(Bytes{memory.count / 2}, kLeastShm);
  if (pod.shm <= memory) return {};
  return fail(Kind::usage,
              fmt::format("/dev/shm of {} does not fit into {} of memory", to_text(pod.shm),
                          to_text(memory)),
              fmt::format("--memory {} or more, or a smaller shm", to_text(pod.shm)));
}

}  // namespace

Result<> resolve_pod(JobSpec& spec, const SubmitOptions& options, const Profile& profile) {
  if (profile.kind != "kube") return check_elsewhere(options, profile);
  TRY_VOID(check_place(options, profile));
  PodSettings pod = profile.pod;
  pod.kubeconfig = profile.kubeconfig;
  pod.context = profile.context;
  if (options.image) pod.image = *options.image;
  if (options.spot) pod.spot = options.spot;
  if (pod.agent_image.empty()) pod.agent_image = pod.image;
  auto& request = spec.request;
  if (request.memory_per_node.count == 0)
    request.memory_per_node = Bytes{kMemoryOfAProcess.count * request.procs_per_node};
  TRY_VOID(fill_shm(pod, request.memory_per_node));
  // A desk's limits say nothing about a cluster's nodes.
  spec.limits.clear();
  spec.nice = 0;
  spec.pod = std::move(pod);
  return {};
}

std::optional<PodSettings> pod_again(const JobSpec& old, SubmitOptions& options) {
  if (!old.pod || options.cluster.value_or(old.cluster) != old.cluster) return std::nullopt;
  const auto image = std::exchange(options.image, {});
  const auto spot = std::exchange(options.spot, {});
  auto pod = old.pod;
  // An agent that came with the old image comes with the new one.
  if (image && pod->agent_image == pod->image) pod->agent_image = *image;
  if (image) pod->image = *image;
  if (spot) pod->spot = spot;
  return pod;
}

}  // namespace muster::spec
