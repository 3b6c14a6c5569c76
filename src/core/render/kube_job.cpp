#include "core/render/kube_job.hpp"

#include "base/text.hpp"
#include "core/model/json.hpp"
#include "core/render/names.hpp"
#include "core/render/pod.hpp"

namespace muster::render {
namespace {

constexpr std::size_t kLargestSecret = std::size_t{1024} * 1024;
/// A long stop for a Job that nobody deletes: the server does so when it has committed the end.
constexpr int kKeepSeconds = 7 * 24 * 3600;

json::object metadata(const Rendering& r, const std::string& name) {
  json::object out{{"name", name}};
  if (!r.spec.pod->name_space.empty()) out["namespace"] = r.spec.pod->name_space;
  out["labels"] = labels_json(r);
  return out;
}

json::object head(const char* api, const char* kind, json::object metadata) {
  return {{"apiVersion", api}, {"kind", kind}, {"metadata", std::move(metadata)}};
}

Object object_of(const char* resource, const json::object& document) {
  const auto& meta = document.at("metadata").get_object();
  return {.kind = std::string(text_at(document, "kind")),
          .api = std::string(text_at(document, "apiVersion")),
          .resource = resource,
          .name = std::string(text_at(meta, "name")),
          .json = json::serialize(document)};
}

Object secret(const Rendering& r, const std::string& name, const char* key,
              std::string_view bytes) {
  auto out = head("v1", "Secret", metadata(r, name));
  out["type"] = "Opaque";
  out["immutable"] = true;
  out["data"] = json::object{{key, to_base64(bytes)}};
  return object_of("secrets", out);
}

/// Gives each pod a name that the others can look up, also before it is ready.
Object service(const Rendering& r) {
  const auto name = object_name(r.ref, r.home_id);
  auto out = head("v1", "Service", metadata(r, name));
  out["spec"] = json::object{{"clusterIP", "None"},
                             {"publishNotReadyAddresses", true},
                             {"selector", json::object{{"batch.kubernetes.io/job-name", name}}}};
  return object_of("services", out);
}

/// One failed pod is the end of the attempt, whatever took it: trying again is ours alone.
json::object failure_policy() {
  const json::object taken{
      {"action", "FailJob"},
      {"onPodConditions",
       json::array{json::object{{"type", "DisruptionTarget"}, {"status", "True"}}}}};
  const json::object failed{
      {"action", "FailJob"},
      {"onExitCodes", json::object{{"operator", "NotIn"}, {"values", json::array{0}}}}};
  return {{"rules", json::array{taken, failed}}};
}

Object job(const Rendering& r) {
  auto meta = metadata(r, object_name(r.ref, r.home_id));
  if (r.code != CodeFrom::none)
    meta["annotations"] = json::object{{kCodeAnnotation, name_of(r.code)}};
  auto out = head("batch/v1", "Job", std::move(meta));
  out["spec"] = json::object{{"completions", r.spec.request.nodes},
                             {"parallelism", r.spec.request.nodes},
                             {"completionMode", "Indexed"},
                             {"backoffLimit", 0},
                             {"podFailurePolicy", failure_policy()},
                             {"podReplacementPolicy", "Failed"},
                             {"ttlSecondsAfterFinished", kKeepSeconds},
                             {"template", pod_template(r)}};
  return object_of("jobs", out);
}

Result<> check_size(std::string_view what, std::size_t bytes, std::string fix) {
  if (bytes <= kLargestSecret) return {};
  return fail(Kind::exhausted,
              fmt::format("{} has {} bytes; a Secret holds {}", what, bytes, kLargestSecret),
              std::move(fix));
}

}  // namespace

Result<std::vector<Object>> render(const Rendering& r) {
  TRY_VOID(check_size("what the job is started with (command, variables, ranks)",
                      r.plan_bytes.size(), "shorten the command and the variables (-e)"));
  TRY_VOID(check_size("the code", r.code_bytes.size(), "leave files out: .musterignore"));
  std::vector<Object> objects;
  objects.push_back(secret(r, object_name(r.ref, r.home_id), "plan", r.plan_bytes));
  if (r.code == CodeFrom::secret)
    objects.push_back(secret(r, code_name(r.ref, r.home_id), "bundle", r.code_bytes));
  objects.push_back(service(r));
  objects.push_back(job(r));
  return objects;
}

std::string code_address(CodeFrom from, std::string_view served_at) {
  if (from == CodeFrom::store) return fmt::format("file://{}", kCodeDir);
  return from == CodeFrom::server ? fmt::format("http://{}", served_at) : std::string();
}

CodeFrom code_by_size(std::uint64_t bytes, const PodSettings& settings) {
  if (bytes <= kLargestSecretCode) return CodeFrom::secret;
  return settings.store ? CodeFrom::claim : CodeFrom::stream;
}

std::string collection_path(const Object& object, std::string_view name_space) {
  return fmt::format("/{}/{}/namespaces/{}/{}", object.api == "v1" ? "api" : "apis", object.api,
                     name_space, object.resource);
}

std::string owner_patch(std::string_view job_name, std::string_view job_uid) {
  const json::object owner{
      {"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", job_name}, {"uid", job_uid}};
  return json::serialize(
      json::object{{"metadata", json::object{{"ownerReferences", json::array{owner}}}}});
}

PodSecurity security_in(PodSecurity asked, std::string_view enforced) {
  if (asked != PodSecurity::automatic) return asked;
  if (enforced == "restricted") return PodSecurity::restricted;
  if (enforced == "baseline") return PodSecurity::baseline;
  return PodSecurity::image;
}

}  // namespace muster::render

namespace muster {

template <>
std::span<const Named<render::CodeFrom>> names<render::CodeFrom>() {
  using enum render::CodeFrom;
  static constexpr Named<render::CodeFrom> kRows[] = {{none, "none"},     {store, "store"},
                                                      {server, "server"}, {secret, "secret"},
                                                      {claim, "claim"},   {stream, "stream"}};
  return kRows;
}

}  // namespace muster
