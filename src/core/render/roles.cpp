#include "core/render/roles.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "core/model/json.hpp"

namespace muster::render {
namespace {

constexpr const char* kRbac = "rbac.authorization.k8s.io";

Right right(std::string group, std::string resource, std::string part,
            std::vector<std::string> verbs) {
  return {.group = std::move(group),
          .resource = std::move(resource),
          .part = std::move(part),
          .name = {},
          .space = {},
          .verbs = std::move(verbs)};
}

/// Secrets are made, given an owner and removed by names that muster knows: it reads and lists
/// none. The namespace is read for what it enforces; a Role may allow that of its own.
Role jobs_role() {
  return {.name = "muster-jobs",
          .is_everywhere = false,
          .is_needed = true,
          .gives = "submit, follow and stop jobs",
          .rights = {
              right("batch", "jobs", "", {"create", "get", "list", "watch", "patch", "delete"}),
              right("", "pods", "", {"list", "watch", "patch", "delete"}),
              right("", "pods", "log", {"get"}),
              right("", "services", "", {"create", "patch", "delete"}),
              right("", "secrets", "", {"create", "patch", "delete"}),
              right("", "events", "", {"list"}),
              right("", "namespaces", "", {"get"}),
              right("", "persistentvolumeclaims", "", {"list"}),
          }};
}

/// A command's connection begins as a GET, which servers up to 1.34 call "get"; newer ones ask for
/// "create" as well.
Role exec_role() {
  return {.name = "muster-exec",
          .is_everywhere = false,
          .is_needed = false,
          .gives = "muster exec, signals to running jobs, code of more than 900 KiB",
          .rights = {right("", "pods", "exec", {"create", "get"})}};
}

Role nodes_role() {
  Right dns = right("", "services", "", {"get"});
  dns.name = "kube-dns";
  dns.space = "kube-system";
  return {.name = "muster-nodes",
          .is_everywhere = true,
          .is_needed = false,
          .gives =
              "what the nodes have, the storage classes and the cluster's DNS in doctor and "
              "cluster attach",
          .rights = {right("", "nodes", "", {"list"}),
                     right("storage.k8s.io", "storageclasses", "", {"list"}), std::move(dns)}};
}

json::array words(const std::vector<std::string>& texts) {
  json::array out;
  for (const auto& text : texts) out.push_back(json::string(text));
  return out;
}

json::object rule_of(const Right& right) {
  const auto resource = right.part.empty() ? right.resource : right.resource + "/" + right.part;
  json::object rule{{"apiGroups", words({right.group})}, {"resources", words({resource})}};
  if (!right.name.empty()) rule["resourceNames"] = words({right.name});
  rule["verbs"] = words(right.verbs);
  return rule;
}

json::object head(const char* kind, const std::string& name, const std::string& space) {
  json::object metadata{{"name", name}};
  if (!space.empty()) metadata["namespace"] = space;
  return {{"apiVersion", fmt::format("{}/v1", kRbac)},
          {"kind", kind},
          {"metadata", std::move(metadata)}};
}

std::string role_document(const Role& role, const RolesFor& wanted) {
  auto out = role.is_everywhere ? head("ClusterRole", role.name, "")
                                : head("Role", role.name, wanted.space);
  json::array rules;
  for (const auto& right : role.rights) rules.push_back(rule_of(right));
  out["rules"] = std::move(rules);
  return json::serialize(out);
}

/// Bindings of ClusterRoles have no namespace: their names must tell whose they are.
std::string binding_document(const Role& role, const RolesFor& wanted) {
  const auto name = role.is_everywhere
                        ? fmt::format("{}-{}-{}", role.name, wanted.space, wanted.account)
                        : fmt::format("{}-{}", role.name, wanted.account);
  auto out = role.is_everywhere ? head("ClusterRoleBinding", name, "")
                                : head("RoleBinding", name, wanted.space);
  out["roleRef"] = json::object{{"apiGroup", kRbac},
                                {"kind", role.is_everywhere ? "ClusterRole" : "Role"},
                                {"name", role.name}};
  out["subjects"] = json::array{json::object{
      {"kind", "ServiceAccount"}, {"name", wanted.account}, {"namespace", wanted.space}}};
  return json::serialize(out);
}

const Role* find(std::string_view name) {
  for (const auto& role : shipped_roles())
    if (role.name == name) return &role;
  return nullptr;
}

}  // namespace

const std::vector<Role>& shipped_roles() {
  static const std::vector<Role> kRoles{jobs_role(), exec_role(), nodes_role()};
  return kRoles;
}

Result<std::vector<std::string>> role_documents(const RolesFor& wanted) {
  for (const auto& name : wanted.names)
    if (find(name) == nullptr)
      return fail(Kind::not_found, fmt::format("no role \"{}\"", printable(name)),
                  "one of: muster-jobs, muster-exec, muster-nodes");
  if (!wanted.account.empty() && wanted.space.empty())
    return fail(Kind::usage, "a service account is one of a namespace", "add --namespace NAME");
  std::vector<const Role*> chosen;
  for (const auto& role : shipped_roles())
    if (wanted.names.empty() ||
        std::find(wanted.names.begin(), wanted.names.end(), role.name) != wanted.names.end())
      chosen.push_back(&role);
  std::vector<std::string> documents;
  for (const auto* role : chosen) documents.push_back(role_document(*role, wanted));
  for (const auto* role : chosen)
    if (!wanted.account.empty()) documents.push_back(binding_document(*role, wanted));
  return documents;
}

std::string to_text(const Right& right) {
  return fmt::format("{}{}{}{}{}{}", right.resource, right.part.empty() ? "" : "/", right.part,
                     right.group.empty() ? "" : ".", right.group,
                     right.name.empty() ? "" : " " + right.name);
}

}  // namespace muster::render
