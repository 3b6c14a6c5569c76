#include "edge/kube/survey.hpp"

#include <cmath>

#include "core/model/json.hpp"
#include "core/render/kube_job.hpp"
#include "core/render/spot.hpp"
#include "edge/kube/access.hpp"
#include "edge/kube/json_scope.hpp"
#include "edge/kube/list.hpp"
#include "edge/kube/quantity.hpp"

namespace muster::kube {
namespace {

constexpr const char* kSystem = "kube-system";
constexpr const char* kDns = "kube-dns";
constexpr const char* kDefaultClass = "storageclass.kubernetes.io/is-default-class";

Resource storage_classes() { return {"storage.k8s.io", "v1", "storageclasses"}; }
Resource volume_claims() { return {"", "v1", "persistentvolumeclaims"}; }
Resource endpoint_slices() { return {"discovery.k8s.io", "v1", "endpointslices"}; }

double amount_at(const json::object& object, std::string_view name) {
  return parse_quantity(text_at(object, name)).value_or(0);
}

/// Asks about every verb of every shipped role, each for itself: rules can be listed only in part.
ApiResult<std::vector<Lack>> lacks_in(Api& api, const std::string& space) {
  std::vector<Lack> lacks;
  for (const auto& role : render::shipped_roles())
    for (const auto& right : role.rights)
      for (const auto& verb : right.verbs) {
        Wish wish{.verb = verb,
                  .resource = {right.group, "*", right.resource},
                  .part = right.part,
                  .space = right.space,
                  .name = right.name};
        if (!role.is_everywhere) wish.space = space;
        // Of a namespace one is asked by its name.
        if (right.resource == "namespaces") wish.name = space;
        API_TRY(const auto permission, may(api, wish));
        if (!permission.is_allowed) lacks.push_back({role.name, right, verb});
      }
  return lacks;
}

ApiResult<std::string> enforced_in(Api& api, const std::string& space) {
  API_TRY(const auto text, api.get({namespaces(), "", space}));
  API_TRY(const auto parsed, parse_json(text));
  if (!parsed.is_object()) return std::string();
  const auto& labels = object_at(object_at(parsed.get_object(), "metadata"), "labels");
  return std::string(text_at(labels, render::kEnforceLabel));
}

/// Everything of a collection, each read by `read`.
template <class T>
ApiResult<std::vector<T>> all_of(Api& api, const Collection& where, const Selection& selection,
                                 T (*read)(const json::object&)) {
  std::vector<T> all;
  const ListSink sink{.begin = [&] { all.clear(); },
                      .item = [&](const json::object& item) { all.push_back(read(item)); }};
  API_TRY_VOID(list(api, where, selection, sink));
  return all;
}

int ready_endpoints(const json::object& slice) {
  int ready = 0;
  for (const auto& item : list_at(slice, "endpoints")) {
    if (!item.is_object()) continue;
    const auto* is_ready = field(object_at(item.get_object(), "conditions"), "ready");
    // Absent is unknown, and to be taken for yes.
    if (is_ready == nullptr || !is_ready->is_bool() || is_ready->get_bool()) ++ready;
  }
  return ready;
}

ApiResult<Dns> dns_of(Api& api) {
  const auto service = api.get({services(), kSystem, kDns});
  if (!service && service.error().code == 404) return Dns{};
  if (!service) return tl::unexpected(service.error());
  Dns dns{.is_there = true, .ready = {}};
  const auto slices =
      all_of<int>(api, {endpoint_slices(), kSystem},
                  {.labels = fmt::format("kubernetes.io/service-name={}", kDns), .fields = ""},
                  ready_endpoints);
  if (!slices) return dns;
  dns.ready = 0;
  for (const int ready : *slices) *dns.ready += ready;
  return dns;
}

StorageClass read_class(const json::object& object) {
  const auto& metadata = object_at(object, "metadata");
  return {.name = std::string(text_at(metadata, "name")),
          .provisioner = std::string(text_at(object, "provisioner")),
          .is_default = text_at(object_at(metadata, "annotations"), kDefaultClass) == "true"};
}

Claim read_claim(const json::object& object) {
  const auto& status = object_at(object, "status");
  Claim claim{.name = std::string(text_at(object_at(object, "metadata"), "name")),
              .phase = std::string(text_at(status, "phase")),
              .size = std::string(text_at(object_at(status, "capacity"), "storage")),
              .modes = {}};
  for (const auto& mode : list_at(object_at(object, "spec"), "accessModes"))
    if (mode.is_string()) claim.modes.emplace_back(mode.get_string());
  return claim;
}

std::string taint_text(const json::object& taint) {
  const auto value = text_at(taint, "value");
  return fmt::format("{}{}{}:{}", text_at(taint, "key"), value.empty() ? "" : "=", value,
                     text_at(taint, "effect"));
}

void read_resources(const json::object& allocatable, SurveyedNode& into) {
  into.cpus = MilliCpus{std::llround(amount_at(allocatable, "cpu") * 1000)};
  into.memory = Bytes{std::llround(amount_at(allocatable, "memory"))};
  // Devices are named by their maker's domain; what Kubernetes itself counts has none.
  for (const auto& [name, value] : allocatable)
    if (name.find('/') != std::string_view::npos)
      if (const auto count = std::llround(amount_at(allocatable, name)); count > 0)
        into.devices[std::string(name)] = count;
}

}  // namespace

SurveyedNode read_node(const json::object& node) {
  const auto& metadata = object_at(node, "metadata");
  const auto& labels = object_at(metadata, "labels");
  const auto& spec = object_at(node, "spec");
  const auto& status = object_at(node, "status");
  SurveyedNode read{.name = std::string(text_at(metadata, "name")),
                    .type = std::string(text_at(labels, "node.kubernetes.io/instance-type")),
                    .zone = std::string(text_at(labels, "topology.kubernetes.io/zone")),
                    .cpus = {},
                    .memory = {},
                    .devices = {},
                    .taints = {},
                    .is_open = !flag_at(spec, "unschedulable")};
  read_resources(object_at(status, "allocatable"), read);
  for (const auto& [key, value] : labels)
    if (value.is_string() && render::is_spot_mark(key, value.get_string())) read.is_spot = true;
  for (const auto& taint : list_at(spec, "taints"))
    if (taint.is_object() && !text_at(taint.get_object(), "key").starts_with("node.kubernetes.io/"))
      read.taints.push_back(taint_text(taint.get_object()));
  for (const auto& condition : list_at(status, "conditions"))
    if (condition.is_object() && text_at(condition.get_object(), "type") == "Ready")
      read.is_ready = text_at(condition.get_object(), "status") == "True";
  return read;
}

ApiResult<Survey> survey(Api& api, const std::string& space) {
  Survey found;
  API_TRY(found.version, server_version(api));
  API_TRY(found.lacks, lacks_in(api, space));
  found.enforced = enforced_in(api, space);
  found.dns = dns_of(api);
  found.classes = all_of<StorageClass>(api, {storage_classes()}, {}, read_class);
  found.claims = all_of<Claim>(api, {volume_claims(), space}, {}, read_claim);
  found.nodes = all_of<SurveyedNode>(api, {nodes()}, {}, read_node);
  return found;
}

}  // namespace muster::kube
