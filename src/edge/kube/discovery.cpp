#include "edge/kube/discovery.hpp"

#include <charconv>

#include "core/model/json.hpp"
#include "edge/kube/json_scope.hpp"

namespace muster::kube {
namespace {

constexpr std::string_view kAggregated =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    "application/json";

/// "36+" is 36.
int leading_number(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

void each_object(const json::object& object, std::string_view list,
                 const std::function<void(const json::object&)>& use) {
  for (const auto& item : list_at(object, list))
    if (item.is_object()) use(item.get_object());
}

void read_version(const std::string& group, const json::object& version, Discovery& into) {
  const std::string name(text_at(version, "version"));
  if (text_at(version, "freshness") == "Stale") into.stale.push_back(group + "/" + name);
  each_object(version, "resources", [&](const json::object& resource) {
    into.resources.push_back(
        {.resource = {group, name, std::string(text_at(resource, "resource"))},
         .kind = std::string(text_at(object_at(resource, "responseKind"), "kind")),
         .is_namespaced = text_at(resource, "scope") == "Namespaced"});
  });
}

/// The list of one group and version, as servers without aggregation give it.
ApiResult<> read_plain_version(Api& api, const std::string& group, const std::string& version,
                               Discovery& into) {
  const auto path = group.empty() ? "/api/" + version : "/apis/" + group + "/" + version;
  auto answer = api.call({.path = path});
  if (!answer && answer.error().code == 503) {
    into.stale.push_back(group + "/" + version);
    return {};
  }
  if (!answer) return tl::unexpected(answer.error());
  API_TRY(const auto parsed, parse_json(answer->body));
  if (!parsed.is_object()) return {};
  each_object(parsed.get_object(), "resources", [&](const json::object& resource) {
    const std::string name(text_at(resource, "name"));
    if (name.find('/') != std::string::npos) return;  // a part of another
    into.resources.push_back({.resource = {group, version, name},
                              .kind = std::string(text_at(resource, "kind")),
                              .is_namespaced = flag_at(resource, "namespaced")});
  });
  return {};
}

using GroupVersion = std::pair<std::string, std::string>;

std::vector<GroupVersion> plain_versions(const json::object& answer) {
  std::vector<GroupVersion> all;
  for (const auto& version : list_at(answer, "versions"))
    if (version.is_string()) all.emplace_back("", std::string(version.get_string()));
  each_object(answer, "groups", [&](const json::object& group) {
    each_object(group, "versions", [&](const json::object& version) {
      all.emplace_back(text_at(group, "name"), text_at(version, "version"));
    });
  });
  return all;
}

ApiResult<> discover_under(Api& api, const std::string& path, Discovery& into) {
  API_TRY(const auto answer, api.call({.path = path, .accept = std::string(kAggregated)}));
  API_TRY(const auto parsed, parse_json(answer.body));
  if (!parsed.is_object()) return {};
  const auto& object = parsed.get_object();
  if (text_at(object, "kind") == "APIGroupDiscoveryList") {
    API_TRY_VOID(read_aggregated(answer.body, into));
    return {};
  }
  for (const auto& [group, version] : plain_versions(object))
    API_TRY_VOID(read_plain_version(api, group, version, into));
  return {};
}

}  // namespace

Result<> read_aggregated(std::string_view text, Discovery& into) {
  TRY(const auto parsed, parse_json(text));
  if (!parsed.is_object()) return fail(Kind::corrupt, "the cluster's discovery is no object");
  each_object(parsed.get_object(), "items", [&](const json::object& group) {
    const std::string name(text_at(object_at(group, "metadata"), "name"));
    each_object(group, "versions",
                [&](const json::object& version) { read_version(name, version, into); });
  });
  return {};
}

const KnownResource* Discovery::find(std::string_view group, std::string_view plural) const {
  for (const auto& known : resources)
    if (known.resource.group == group && known.resource.plural == plural) return &known;
  return nullptr;
}

bool Discovery::has(const Resource& resource) const {
  for (const auto& known : resources)
    if (known.resource == resource) return true;
  return false;
}

ApiResult<ServerVersion> server_version(Api& api) {
  API_TRY(const auto answer, api.call({.path = "/version"}));
  API_TRY(const auto parsed, parse_json(answer.body));
  if (!parsed.is_object())
    return tl::unexpected(ApiError(fail(Kind::corrupt, "the cluster tells no version").value()));
  const auto& object = parsed.get_object();
  return ServerVersion{.major = leading_number(text_at(object, "major")),
                       .minor = leading_number(text_at(object, "minor")),
                       .text = std::string(text_at(object, "gitVersion"))};
}

ApiResult<Discovery> discover(Api& api) {
  Discovery found;
  API_TRY_VOID(discover_under(api, "/api", found));
  API_TRY_VOID(discover_under(api, "/apis", found));
  return found;
}

}  // namespace muster::kube
