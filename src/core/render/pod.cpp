#include "core/render/pod.hpp"

#include <limits>

#include "base/check.hpp"
#include "core/model/json.hpp"
#include "core/render/names.hpp"

namespace muster::render {
namespace {

/// Readable for whatever user the image runs as: the pod has no other reader.
constexpr int kSecretMode = 0444;
constexpr int kPlainUser = 1000;
/// Between the end of the grace and the kubelet's own KILL: time for the agent's record.
constexpr std::int64_t kRecordSeconds = 10;
/// The agent keeps the time limit; this ends a pod whose agent cannot.
constexpr std::int64_t kLongStopSeconds = 3600;

std::int64_t whole_seconds(Duration duration) { return (duration.count() + 999'999) / 1'000'000; }

std::string cpu_quantity(MilliCpus cpus) {
  return cpus.count % 1000 == 0 ? fmt::format("{}", cpus.count / 1000)
                                : fmt::format("{}m", cpus.count);
}

/// The largest unit that says it exactly.
std::string byte_quantity(Bytes bytes) {
  constexpr const char* kUnits[] = {"", "Ki", "Mi", "Gi", "Ti"};
  std::size_t unit = 0;
  auto count = bytes.count;
  while (count != 0 && count % 1024 == 0 && unit + 1 < std::size(kUnits)) {
    count /= 1024;
    ++unit;
  }
  return fmt::format("{}{}", count, kUnits[unit]);
}

/// Request and limit are one: what a job asked for it has, and no more.
json::object same_for_both(const json::object& amounts) {
  return {{"requests", amounts}, {"limits", amounts}};
}

json::object basic_amounts(const Request& request) {
  return {{"cpu", cpu_quantity(request.cpus_per_node)},
          {"memory", byte_quantity(request.memory_per_node)}};
}

json::object all_amounts(const Request& request, const PodSettings& settings) {
  auto amounts = basic_amounts(request);
  if (request.gpus_per_node > 0)
    amounts[settings.gpu_resource] = fmt::format("{}", request.gpus_per_node);
  for (const auto& [name, count] : settings.resources) amounts[name] = fmt::format("{}", count);
  return amounts;
}

json::object mount(std::string_view name, std::string_view path, bool is_read_only = false) {
  json::object out{{"name", name}, {"mountPath", path}};
  if (is_read_only) out["readOnly"] = true;
  return out;
}

std::string claim_name(std::size_t i) { return fmt::format("claim-{}", i); }

PodSecurity security_of(const Rendering& r) {
  return security_in(r.spec.pod->pod_security, r.enforced);
}

void add_security(json::object& container, PodSecurity security) {
  if (security == PodSecurity::image) return;
  json::object context{{"allowPrivilegeEscalation", false}};
  if (security == PodSecurity::restricted)
    context["capabilities"] = json::object{{"drop", json::array{"ALL"}}};
  container["securityContext"] = std::move(context);
}

/// What comes before the job: in the agent's image, with as much as the job itself has, so that it
/// costs nothing more and the pod keeps the best quality of service.
json::object init_container(const Rendering& r, const char* name, json::array command) {
  json::object container{{"name", name},
                         {"image", r.spec.pod->agent_image},
                         {"command", std::move(command)},
                         {"resources", same_for_both(basic_amounts(r.spec.request))},
                         {"volumeMounts", json::array{mount("muster", kSharedDir)}}};
  add_security(container, security_of(r));
  return container;
}

/// Waits until somebody has sent the code beside it, by exec.
json::object code_container(const Rendering& r) {
  auto container = init_container(
      r, kCodeContainer, {kAgentProgram, "agent", "receive", kCodeDir, "--plan", kPlanFile});
  auto& mounts = container["volumeMounts"].get_array();
  mounts.push_back(mount("plan", kPlanDir, true));
  if (r.code == CodeFrom::claim) mounts.push_back(mount("code", kCodeDir));
  return container;
}

json::array init_containers(const Rendering& r) {
  json::array out{
      init_container(r, kAgentContainer, {kAgentProgram, "agent", "install", "/muster/bin"})};
  if (r.code == CodeFrom::claim || r.code == CodeFrom::stream) out.push_back(code_container(r));
  return out;
}

json::array mounts(const Rendering& r) {
  json::array out{mount("muster", kSharedDir), mount("plan", kPlanDir, true),
                  mount("shm", "/dev/shm")};
  if (r.code == CodeFrom::secret) out.push_back(mount("code", kCodeSecretDir, true));
  // What jobs share they cannot change.
  if (r.code == CodeFrom::store || r.code == CodeFrom::claim)
    out.push_back(mount("code", kCodeDir, true));
  const auto& volumes = r.spec.pod->volumes;
  for (std::size_t i = 0; i < volumes.size(); ++i)
    out.push_back(mount(claim_name(i), volumes[i].path, volumes[i].is_read_only));
  return out;
}

/// The plan was made before the cluster chose the node.
json::object node_name() {
  return {{"name", "MUSTER_NODE"},
          {"valueFrom", json::object{{"fieldRef", json::object{{"fieldPath", "spec.nodeName"}}}}}};
}

/// Until the ranks begin the pod is not ready: a set-up, or waiting for other nodes, is not
/// running. Asked until the first yes, and never again.
json::object begun_probe() {
  return {{"exec", json::object{{"command", json::array{kAgentInPod, "agent", kBegunWord}}}},
          {"periodSeconds", 2},
          {"timeoutSeconds", 5},
          {"failureThreshold", std::numeric_limits<std::int32_t>::max()}};
}

bool begins_late(const JobSpec& spec) {
  return spec.request.nodes > 1 || !spec.code.setup.empty() || !spec.code.requirements.empty();
}

json::object main_container(const Rendering& r) {
  json::object container{
      {"name", kMainContainer},
      {"image", r.spec.pod->image},
      {"command", json::array{kAgentInPod, "agent", "rank", "--plan", kPlanFile}},
      {"env", json::array{node_name()}},
      {"resources", same_for_both(all_amounts(r.spec.request, *r.spec.pod))},
      {"volumeMounts", mounts(r)},
      {"terminationMessagePath", "/dev/termination-log"},
      {"terminationMessagePolicy", "File"}};
  if (begins_late(r.spec)) container["startupProbe"] = begun_probe();
  add_security(container, security_of(r));
  return container;
}

json::object secret_volume(const char* name, const std::string& secret) {
  return {{"name", name},
          {"secret", json::object{{"secretName", secret}, {"defaultMode", kSecretMode}}}};
}

json::object claim_volume(std::string_view name, const std::string& claim, bool is_read_only) {
  json::object source{{"claimName", claim}};
  if (is_read_only) source["readOnly"] = true;
  return {{"name", name}, {"persistentVolumeClaim", std::move(source)}};
}

json::array volumes(const Rendering& r) {
  const auto& pod = *r.spec.pod;
  json::array out{json::object{{"name", "muster"}, {"emptyDir", json::object{}}},
                  secret_volume("plan", object_name(r.ref, r.home_id)),
                  json::object{{"name", "shm"},
                               {"emptyDir", json::object{{"medium", "Memory"},
                                                         {"sizeLimit", byte_quantity(pod.shm)}}}}};
  if (r.code == CodeFrom::secret) out.push_back(secret_volume("code", code_name(r.ref, r.home_id)));
  if (r.code == CodeFrom::store || r.code == CodeFrom::claim)
    out.push_back(claim_volume("code", pod.store->claim, r.code == CodeFrom::store));
  for (std::size_t i = 0; i < pod.volumes.size(); ++i)
    out.push_back(claim_volume(claim_name(i), pod.volumes[i].claim, pod.volumes[i].is_read_only));
  return out;
}

void add_identity(json::object& spec, const Rendering& r) {
  const auto& pod = *r.spec.pod;
  if (pod.service_account.empty())
    spec["automountServiceAccountToken"] = false;
  else
    spec["serviceAccountName"] = pod.service_account;
  json::array secrets;
  for (const auto& name : pod.image_pull_secrets) secrets.push_back(json::object{{"name", name}});
  if (!secrets.empty()) spec["imagePullSecrets"] = std::move(secrets);
  if (security_of(r) != PodSecurity::restricted) return;
  json::object context{{"runAsNonRoot", true},
                       {"runAsUser", kPlainUser},
                       {"runAsGroup", kPlainUser},
                       {"seccompProfile", json::object{{"type", "RuntimeDefault"}}}};
  // So that the init container may write to the claim; a volume that has it is not gone through.
  if (r.code == CodeFrom::claim) {
    context["fsGroup"] = kPlainUser;
    context["fsGroupChangePolicy"] = "OnRootMismatch";
  }
  spec["securityContext"] = std::move(context);
}

json::object pod_spec(const Rendering& r) {
  const auto& job = r.spec;
  json::object spec{{"restartPolicy", "Never"},
                    {"subdomain", object_name(r.ref, r.home_id)},
                    {"enableServiceLinks", false},
                    {"terminationGracePeriodSeconds", whole_seconds(job.grace) + kRecordSeconds}};
  if (job.time_limit.count() > 0)
    spec["activeDeadlineSeconds"] = std::min<std::int64_t>(
        whole_seconds(job.time_limit) + whole_seconds(job.grace) + kLongStopSeconds, INT32_MAX);
  add_identity(spec, r);
  add_places(spec, *job.pod);
  spec["initContainers"] = init_containers(r);
  spec["containers"] = json::array{main_container(r)};
  spec["volumes"] = volumes(r);
  return spec;
}

}  // namespace

json::object labels_json(const Rendering& r) {
  auto labels = labels_of(r.ref, r.home_id);
  labels[kClusterLabel] = label_value(r.spec.cluster);
  labels[kPlaceLabel] = place_of(r.spec.pod->kubeconfig, r.spec.pod->context);
  labels[kUserLabel] = label_value(r.spec.user);
  labels[kNameLabel] = label_value(r.spec.name);
  json::object out;
  for (const auto& [name, value] : labels) out[name] = value;
  return out;
}

json::object pod_template(const Rendering& r) {
  MUSTER_CHECK(r.spec.pod.has_value(), "job {} has no pod settings", r.ref.job.str());
  MUSTER_CHECK(r.spec.pod->store || (r.code != CodeFrom::store && r.code != CodeFrom::claim),
               "job {} has no claim for its code", r.ref.job.str());
  // Moving a rank to save a node costs more than the node: every rank would begin again.
  json::object annotations{{"cluster-autoscaler.kubernetes.io/safe-to-evict", "false"},
                           {"karpenter.sh/do-not-disrupt", "true"}};
  return {{"metadata", json::object{{"labels", labels_json(r)},
                                    {"annotations", std::move(annotations)},
                                    {"finalizers", json::array{kRecordFinalizer}}}},
          {"spec", pod_spec(r)}};
}

}  // namespace muster::render
