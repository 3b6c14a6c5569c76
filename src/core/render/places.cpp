#include <algorithm>

#include "core/model/json.hpp"
#include "core/render/pod.hpp"
#include "core/render/spot.hpp"

namespace muster::render {
namespace {

/// How each provider marks nodes that may be taken away: the label, and by the same name and value
/// the taint, where there is one.
struct SpotMark {
  const char* key;
  const char* value;
};
constexpr SpotMark kSpotMarks[] = {
    {"kubernetes.azure.com/scalesetpriority", "spot"},
    {"karpenter.sh/capacity-type", "spot"},
    {"cloud.google.com/gke-spot", "true"},
    {"eks.amazonaws.com/capacityType", "SPOT"},
};

json::object expression(const SpotMark& mark, const char* op) {
  return {{"key", mark.key}, {"operator", op}, {"values", json::array{mark.value}}};
}

json::object term(json::array expressions) {
  return {{"matchExpressions", std::move(expressions)}};
}

/// Terms are alternatives: a node with any one of the marks will do.
json::object only_spot() {
  json::array terms;
  for (const auto& mark : kSpotMarks) terms.push_back(term({expression(mark, "In")}));
  return {{"requiredDuringSchedulingIgnoredDuringExecution",
           json::object{{"nodeSelectorTerms", std::move(terms)}}}};
}

/// Expressions of one term hold together: a node must have none of the marks. No label is fine.
json::object never_spot() {
  json::array expressions;
  for (const auto& mark : kSpotMarks) expressions.push_back(expression(mark, "NotIn"));
  return {{"requiredDuringSchedulingIgnoredDuringExecution",
           json::object{{"nodeSelectorTerms", json::array{term(std::move(expressions))}}}}};
}

json::object rather_spot() {
  json::array preferences;
  for (const auto& mark : kSpotMarks)
    preferences.push_back(
        json::object{{"weight", 100}, {"preference", term({expression(mark, "In")})}});
  return {{"preferredDuringSchedulingIgnoredDuringExecution", std::move(preferences)}};
}

json::object affinity_of(Spot spot) {
  switch (spot) {
    case Spot::never: return never_spot();
    case Spot::prefer: return rather_spot();
    case Spot::only: return only_spot();
  }
  return {};
}

json::object toleration(const Toleration& tolerated) {
  json::object out;
  if (!tolerated.key.empty()) out["key"] = tolerated.key;
  out["operator"] = tolerated.value.empty() ? "Exists" : "Equal";
  if (!tolerated.value.empty()) out["value"] = tolerated.value;
  if (!tolerated.effect.empty()) out["effect"] = tolerated.effect;
  return out;
}

json::array tolerations_of(const PodSettings& settings) {
  json::array out;
  for (const auto& one : settings.tolerations) out.push_back(toleration(one));
  // Affinity alone does not lead past a taint, nor does a toleration lead anywhere: both are
  // needed.
  const bool takes_spot = settings.spot && *settings.spot != Spot::never;
  for (const auto& mark : kSpotMarks)
    if (takes_spot) out.push_back(toleration({mark.key, mark.value, "NoSchedule"}));
  return out;
}

}  // namespace

bool is_spot_mark(std::string_view key, std::string_view value) {
  return std::any_of(std::begin(kSpotMarks), std::end(kSpotMarks),
                     [&](const SpotMark& mark) { return key == mark.key && value == mark.value; });
}

void add_places(json::object& pod_spec, const PodSettings& settings) {
  if (!settings.node_selector.empty()) {
    json::object selector;
    for (const auto& [key, value] : settings.node_selector) selector[key] = value;
    pod_spec["nodeSelector"] = std::move(selector);
  }
  if (settings.spot)
    pod_spec["affinity"] = json::object{{"nodeAffinity", affinity_of(*settings.spot)}};
  auto tolerations = tolerations_of(settings);
  if (!tolerations.empty()) pod_spec["tolerations"] = std::move(tolerations);
  if (!settings.priority_class.empty()) pod_spec["priorityClassName"] = settings.priority_class;
}

}  // namespace muster::render
