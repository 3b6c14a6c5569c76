#include "edge/kube/access.hpp"

#include "core/model/json.hpp"
#include "edge/kube/json_scope.hpp"

namespace muster::kube {
namespace {

/// A question to the cluster's authorizer. Nothing is stored, so it may be asked again.
ApiResult<json::object> review(Api& api, std::string_view kind, std::string_view plural,
                               json::object spec) {
  const json::object question{{"apiVersion", "authorization.k8s.io/v1"},
                              {"kind", std::string(kind)},
                              {"spec", std::move(spec)}};
  API_TRY(
      const auto answer,
      api.call({.method = "POST",
                .path = path_of(Collection{{"authorization.k8s.io", "v1", std::string(plural)}}),
                .body = json::serialize(question)}));
  API_TRY(const auto parsed, parse_json(answer.body));
  if (!parsed.is_object())
    return tl::unexpected(
        ApiError(fail(Kind::corrupt, "the cluster's review is no object").value()));
  return object_at(parsed.get_object(), "status");
}

std::vector<std::string> texts(const json::object& object, std::string_view name) {
  std::vector<std::string> all;
  for (const auto& item : list_at(object, name))
    if (item.is_string()) all.emplace_back(item.get_string());
  return all;
}

}  // namespace

ApiResult<Permission> may(Api& api, const Wish& wish) {
  json::object attributes{{"verb", wish.verb},
                          {"group", wish.resource.group},
                          {"version", wish.resource.version},
                          {"resource", wish.resource.plural}};
  if (!wish.part.empty()) attributes["subresource"] = wish.part;
  if (!wish.space.empty()) attributes["namespace"] = wish.space;
  if (!wish.name.empty()) attributes["name"] = wish.name;
  API_TRY(const auto status, review(api, "SelfSubjectAccessReview", "selfsubjectaccessreviews",
                                    {{"resourceAttributes", std::move(attributes)}}));
  return Permission{.is_allowed = flag_at(status, "allowed"),
                    .reason = std::string(text_at(status, "reason"))};
}

ApiResult<AccessRules> access_rules(Api& api, const std::string& space) {
  API_TRY(const auto status,
          review(api, "SelfSubjectRulesReview", "selfsubjectrulesreviews", {{"namespace", space}}));
  AccessRules found{.rules = {}, .is_incomplete = flag_at(status, "incomplete")};
  for (const auto& item : list_at(status, "resourceRules")) {
    if (!item.is_object()) continue;
    const auto& rule = item.get_object();
    found.rules.push_back({.verbs = texts(rule, "verbs"),
                           .groups = texts(rule, "apiGroups"),
                           .resources = texts(rule, "resources"),
                           .names = texts(rule, "resourceNames")});
  }
  return found;
}

}  // namespace muster::kube
