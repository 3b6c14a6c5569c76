/// What a survey means, in words. Every part that could not be seen says why, and what that costs.
#include <algorithm>
#include <set>

#include "app/cli/cluster_look.hpp"
#include "base/text.hpp"
#include "core/render/kube_job.hpp"

namespace muster {
namespace {

using kube::SurveyedNode;

/// Commands in containers need the protocol that came with it.
constexpr int kOldestMinor = 30;

std::string grant_command(std::string_view role, const std::string& space) {
  return fmt::format(
      "whoever runs the cluster applies this role and binds it to you: muster cluster roles {} "
      "--namespace {} | kubectl apply -f -",
      role, space);
}

std::string plural(std::size_t count, std::string_view word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

Finding server(const ClusterLook& look) {
  const auto& version = look.survey.version;
  const bool is_old = version.major == 1 && version.minor < kOldestMinor;
  return {"cluster", is_old ? "warn" : "ok",
          fmt::format("{} at {}, context {}", version.text, look.server,
                      look.context.empty() ? "none" : look.context),
          is_old ? fmt::format("exec, signals and large code need Kubernetes 1.{} or later",
                               kOldestMinor)
                 : ""};
}

/// "create, patch secrets; list events"
std::string lacks_text(const std::vector<kube::Lack>& lacks, const std::string& role) {
  std::vector<std::string> parts;
  std::string resource;
  for (const auto& lack : lacks) {
    if (lack.role != role) continue;
    const auto name = render::to_text(lack.right);
    if (name == resource) {
      parts.back() = fmt::format("{}, {} {}", parts.back().substr(0, parts.back().rfind(' ')),
                                 lack.verb, name);
      continue;
    }
    resource = name;
    parts.push_back(fmt::format("{} {}", lack.verb, name));
  }
  return join(parts, "; ");
}

std::vector<Finding> rights(const ClusterLook& look) {
  std::vector<Finding> findings;
  for (const auto& role : render::shipped_roles()) {
    const auto missing = lacks_text(look.survey.lacks, role.name);
    const auto name = fmt::format("rights {}", role.name);
    if (missing.empty())
      findings.push_back({name, "ok", role.gives, ""});
    else
      findings.push_back({name, role.is_needed ? "fail" : "warn",
                          fmt::format("may not {}; that is for: {}", missing, role.gives),
                          grant_command(role.name, look.space)});
  }
  return findings;
}

Finding name_space(const ClusterLook& look) {
  const auto& enforced = look.survey.enforced;
  if (!enforced && enforced.error().code == 404)
    return {"namespace", "fail", fmt::format("there is no namespace {}", look.space),
            fmt::format("kubectl create namespace {}, or choose another: --namespace", look.space)};
  if (!enforced)
    return {"namespace", "warn",
            fmt::format("{}; what it enforces cannot be read: {}", look.space,
                        to_line(enforced.error())),
            "set pod_security in the profile when pods are refused"};
  return {"namespace", "ok",
          fmt::format("{}, pod security: {}", look.space,
                      enforced->empty() ? "nothing is enforced" : *enforced + " is enforced"),
          ""};
}

/// An image that needs root does not run in a namespace that forbids it.
std::optional<Finding> pod_security(const ClusterLook& look, const spec::Profile& profile) {
  const auto& enforced = look.survey.enforced;
  if (!enforced || enforced->empty() || *enforced == "privileged") return std::nullopt;
  const auto made = render::security_in(profile.pod.pod_security, *enforced);
  const bool fits =
      made == PodSecurity::restricted || (made == PodSecurity::baseline && *enforced == "baseline");
  if (fits && made == PodSecurity::restricted)
    return Finding{"pod security", "ok",
                   "pods run as user 1000, without capabilities: the image must bear that", ""};
  if (fits) return std::nullopt;
  return Finding{"pod security", "fail",
                 fmt::format("the namespace enforces {}, the profile makes pods of {}", *enforced,
                             name_of(profile.pod.pod_security)),
                 "set pod_security: auto in the profile"};
}

Finding dns(const ClusterLook& look) {
  const auto& dns = look.survey.dns;
  if (!dns)
    return {"dns", "warn", "cannot be looked at: " + to_line(dns.error()),
            grant_command("muster-nodes", look.space)};
  const char* const fix =
      "jobs of several nodes find each other by name: make sure that pods can "
      "look up headless Services";
  if (!dns->is_there) return {"dns", "warn", "there is no Service kube-dns in kube-system", fix};
  if (dns->ready && *dns->ready == 0)
    return {"dns", "fail", "nobody answers behind the Service kube-dns in kube-system", fix};
  return {"dns", "ok",
          dns->ready ? fmt::format("kube-dns, {} ready", *dns->ready) : "kube-dns is there", ""};
}

Finding storage(const ClusterLook& look, const spec::Profile& profile) {
  std::vector<std::string> parts;
  if (const auto& classes = look.survey.classes) {
    std::vector<std::string> names;
    for (const auto& one : *classes)
      names.push_back(one.name + (one.is_default ? " (default)" : ""));
    parts.push_back(names.empty() ? "no storage classes" : "classes " + join(names, ", "));
  } else {
    parts.push_back("classes cannot be listed: " + to_line(classes.error()));
  }
  bool has_claim = false;
  if (const auto& claims = look.survey.claims) {
    std::vector<std::string> names;
    for (const auto& one : *claims)
      names.push_back(
          fmt::format("{} ({}, {}, {})", one.name, one.phase, one.size, join(one.modes, " ")));
    has_claim = !names.empty();
    parts.push_back(has_claim ? "claims " + join(names, ", ") : "no volume claims");
  } else {
    parts.push_back("claims cannot be listed: " + to_line(claims.error()));
  }
  const bool is_used = !profile.pod.volumes.empty();
  return {"storage", is_used ? "ok" : "warn", join(parts, "; "),
          is_used ? ""
                  : fmt::format("the profile mounts nothing, so checkpoints go with their pod; {}",
                                has_claim ? "name a claim: volumes: [\"CLAIM:/path\"]"
                                          : "make a claim, and name it: volumes: "
                                            "[\"CLAIM:/path\"]")};
}

bool is_usable(const SurveyedNode& node) { return node.is_ready && node.is_open; }

bool is_tolerated(const std::string& taint, const PodSettings& pod) {
  const auto colon = taint.rfind(':');
  const auto effect = taint.substr(colon + 1);
  if (effect == "PreferNoSchedule") return true;
  const auto pair = taint.substr(0, colon);
  const auto key = pair.substr(0, pair.find('='));
  return std::any_of(pod.tolerations.begin(), pod.tolerations.end(), [&](const Toleration& one) {
    return (one.key.empty() || one.key == key) && (one.effect.empty() || one.effect == effect) &&
           (one.value.empty() || pair == key + "=" + one.value);
  });
}

/// The taints that keep jobs of this profile away from a node.
std::vector<std::string> barring(const SurveyedNode& node, const spec::Profile& profile) {
  std::vector<std::string> taints;
  for (const auto& taint : node.taints)
    if (!is_tolerated(taint, profile.pod)) taints.push_back(taint);
  return taints;
}

Finding nodes(const ClusterLook& look, const spec::Profile& profile) {
  const auto& nodes = look.survey.nodes;
  if (!nodes)
    return {"nodes", "warn", "cannot be listed: " + to_line(nodes.error()),
            grant_command("muster-nodes", look.space)};
  std::size_t usable = 0, open = 0;
  std::set<std::string> taints;
  for (const auto& node : *nodes) {
    if (!is_usable(node)) continue;
    ++usable;
    const auto bars = barring(node, profile);
    if (bars.empty()) ++open;
    taints.insert(bars.begin(), bars.end());
  }
  const std::vector<std::string> all(taints.begin(), taints.end());
  auto text = fmt::format("{}, {} ready", plural(nodes->size(), "node"), usable);
  if (!all.empty())
    text += fmt::format("; {} of them closed to this profile by taints: {}", usable - open,
                        join(all, ", "));
  if (usable == 0)
    return {"nodes", "warn", text, "jobs wait until the cluster has nodes that are ready"};
  if (open > 0) return {"nodes", "ok", text, ""};
  return {"nodes", "warn", text,
          fmt::format("to use them: tolerations: [\"{}\"]", join(all, "\", \""))};
}

Finding gpus(const ClusterLook& look, const spec::Profile& profile) {
  const auto& nodes = *look.survey.nodes;
  const auto& resource = profile.pod.gpu_resource;
  std::int64_t count = 0, open = 0;
  std::set<std::string> taints;
  for (const auto& node : nodes) {
    const auto found = node.devices.find(resource);
    if (found == node.devices.end() || !is_usable(node)) continue;
    count += found->second;
    const auto bars = barring(node, profile);
    if (bars.empty()) open += found->second;
    taints.insert(bars.begin(), bars.end());
  }
  if (const auto other = gpu_resource_of(nodes); count == 0 && !other.empty() && other != resource)
    return {"gpus", "warn", fmt::format("no {}, but there are {}", resource, other),
            fmt::format("set gpu_resource: {}", other)};
  if (count == 0) return {"gpus", "ok", fmt::format("no {} on nodes that are ready", resource), ""};
  const std::vector<std::string> all(taints.begin(), taints.end());
  if (open == 0)
    return {"gpus", "warn", fmt::format("{} {}, all behind taints", count, resource),
            fmt::format("to use them: tolerations: [\"{}\"]", join(all, "\", \""))};
  return {"gpus", "ok", fmt::format("{} {}, {} open to this profile", count, resource, open), ""};
}

std::optional<Finding> image(const spec::Profile& profile) {
  if (!profile.pod.image.empty()) return std::nullopt;
  return Finding{"image", "warn", "the profile names none: every submit must",
                 fmt::format("set clusters.{}.image, or submit --image IMAGE", profile.name)};
}

}  // namespace

std::vector<Finding> findings_of(const ClusterLook& look, const spec::Profile& profile) {
  std::vector<Finding> findings{server(look)};
  for (auto& right : rights(look)) findings.push_back(std::move(right));
  findings.push_back(name_space(look));
  if (auto security = pod_security(look, profile)) findings.push_back(std::move(*security));
  findings.push_back(dns(look));
  findings.push_back(storage(look, profile));
  findings.push_back(nodes(look, profile));
  if (look.survey.nodes) findings.push_back(gpus(look, profile));
  if (auto lacking = image(profile)) findings.push_back(std::move(*lacking));
  return findings;
}

}  // namespace muster
