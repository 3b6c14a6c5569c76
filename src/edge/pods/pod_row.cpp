#include "edge/pods/pod_row.hpp"

#include <algorithm>
#include <charconv>

#include "base/text.hpp"
#include "core/model/json.hpp"
#include "core/render/kube_job.hpp"
#include "core/render/names.hpp"

namespace muster::pods {
namespace {

constexpr std::size_t kLongestText = 512;
constexpr std::size_t kLongestRecord = 4096;  // what Kubernetes keeps of a termination message
constexpr const char* kIndexAnnotation = "batch.kubernetes.io/job-completion-index";

const json::object kNothing;

const json::object& part(const json::object& object, std::string_view name) {
  const auto* value = field(object, name);
  return value != nullptr && value->is_object() ? value->get_object() : kNothing;
}

const json::object& as_object(const json::value& value) {
  return value.is_object() ? value.get_object() : kNothing;
}

std::string brief(std::string_view text, std::size_t most = kLongestText) {
  return std::string(text.substr(0, most));
}

int index_of(const json::object& metadata) {
  const auto text = text_at(part(metadata, "annotations"), kIndexAnnotation);
  int index = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  return error == std::errc() && end == text.data() + text.size() ? index : -1;
}

/// Kubernetes promises that versions of one kind compare as numbers; 0 when it is none.
std::uint64_t version_of(const json::object& metadata) {
  const auto text = text_at(metadata, "resourceVersion");
  std::uint64_t version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  return error == std::errc() && end == text.data() + text.size() ? version : 0;
}

bool holds(const json::array& list, std::string_view word) {
  return std::any_of(list.begin(), list.end(), [&](const auto& one) {
    return one.is_string() && std::string_view(one.get_string()) == word;
  });
}

Phase phase_of(std::string_view word) {
  if (word == "Running") return Phase::running;
  if (word == "Succeeded") return Phase::succeeded;
  if (word == "Failed") return Phase::failed;
  return Phase::pending;
}

WallTime time_of(const json::object& object, std::string_view name) {
  const auto time = parse_rfc3339(text_at(object, name));
  return time ? *time : WallTime{};
}

std::optional<Terminated> terminated(const json::object& status) {
  const auto& end = part(part(status, "state"), "terminated");
  if (end.empty()) return std::nullopt;
  return Terminated{.container = std::string(text_at(status, "name")),
                    .exit = static_cast<int>(number_at(end, "exitCode")),
                    .signal = static_cast<int>(number_at(end, "signal")),
                    .reason = brief(text_at(end, "reason")),
                    .message = brief(text_at(end, "message"), kLongestRecord),
                    .started = time_of(end, "startedAt"),
                    .ended = time_of(end, "finishedAt")};
}

std::string fix_for(std::string_view code) {
  if (code == "ErrImagePull" || code == "ImagePullBackOff" || code == "InvalidImageName")
    return "check the image's name and the cluster's right to pull it: image, image_pull_secrets";
  if (code == "CreateContainerConfigError")
    return "check the names of secrets, claims and config maps the pod uses";
  if (code == "Unschedulable")
    return "wait for room or for the pool to grow, ask for less, or check selectors and "
           "tolerations";
  return "nothing: it goes on by itself";
}

Reason reason_of(std::string_view code, std::string_view text) {
  const bool lacks_claim = text.find("persistentvolumeclaim") != std::string_view::npos &&
                           text.find("not found") != std::string_view::npos;
  return {.code = std::string(code),
          .text = text.empty() ? std::string(code) : brief(text),
          .fix = lacks_claim ? "make the claim in the namespace, or mend volumes in the profile"
                             : fix_for(code)};
}

/// Starting up is no reason; an image that cannot be had is.
std::optional<Reason> waiting_of(const json::object& status) {
  const auto& waiting = part(part(status, "state"), "waiting");
  const auto code = text_at(waiting, "reason");
  if (code.empty() || code == "ContainerCreating" || code == "PodInitializing") return std::nullopt;
  return reason_of(code, text_at(waiting, "message"));
}

/// Nobody probes our pods: one that runs is ready, until its node is given up by the cluster.
void read_conditions(const json::object& status, PodRow& row) {
  for (const auto& one : list_at(status, "conditions")) {
    const auto& condition = as_object(one);
    const auto type = text_at(condition, "type");
    const auto is = text_at(condition, "status");
    if (type == "DisruptionTarget" && is == "True") {
      row.disruption = brief(text_at(condition, "reason"));
      row.disruption_text = brief(text_at(condition, "message"));
    } else if (type == "PodScheduled" && is == "False") {
      row.waits_for = reason_of(text_at(condition, "reason"), text_at(condition, "message"));
    } else if (type == "Ready" && is == "False") {
      row.is_silent = true;
    }
  }
}

void read_containers(const json::object& status, PodRow& row) {
  const bool is_ready = !row.is_silent;
  row.is_silent = false;
  for (const auto& one : list_at(status, "initContainerStatuses")) {
    const auto& init = as_object(one);
    if (auto reason = waiting_of(init)) row.waits_for = std::move(reason);
    if (auto end = terminated(init); end && (end->exit != 0 || end->signal != 0))
      row.failed = std::move(end);
    const bool is_code = text_at(init, "name") == render::kCodeContainer;
    row.wants_code = row.wants_code || (is_code && !part(part(init, "state"), "running").empty());
  }
  for (const auto& one : list_at(status, "containerStatuses")) {
    const auto& container = as_object(one);
    if (text_at(container, "name") != render::kMainContainer) continue;
    if (auto reason = waiting_of(container)) row.waits_for = std::move(reason);
    row.is_running = !part(part(container, "state"), "running").empty();
    const auto* started = field(container, "started");
    row.is_starting = row.is_running && started != nullptr && *started == json::value(false);
    const auto* ready = field(container, "ready");
    row.is_silent = !is_ready && row.is_running && ready != nullptr && *ready == json::value(true);
    row.ended = terminated(container);
    row.has_container = !text_at(container, "containerID").empty();
    row.has_started = row.is_running || row.ended.has_value();
  }
}

/// Labels are anybody's to write; this is what the Job's controller put there.
const json::object& controller_of(const json::object& metadata) {
  for (const auto& one : list_at(metadata, "ownerReferences")) {
    const auto& owner = as_object(one);
    const auto* controls = field(owner, "controller");
    if (text_at(owner, "kind") == "Job" && controls != nullptr && *controls == json::value(true))
      return owner;
  }
  return kNothing;
}

void read_owner(const json::object& metadata, PodRow& row) {
  const auto& owner = controller_of(metadata);
  row.job = text_at(part(metadata, "labels"), kJobNameLabel);
  if (row.job.empty()) row.job = text_at(owner, "name");
  if (text_at(owner, "name") == row.job) row.owner = text_at(owner, "uid");
}

bool lacks_labels(const json::object& metadata) {
  const auto& labels = part(metadata, "labels");
  return text_at(labels, render::kHomeLabel).empty() ||
         text_at(labels, render::kClusterLabel).empty() ||
         text_at(labels, render::kPlaceLabel).empty();
}

}  // namespace

std::optional<PodRow> read_pod(const json::object& pod) {
  const auto& metadata = part(pod, "metadata");
  const auto& status = part(pod, "status");
  PodRow row{.name = std::string(text_at(metadata, "name")),
             .uid = std::string(text_at(metadata, "uid")),
             .version = version_of(metadata),
             .index = index_of(metadata),
             .node = std::string(text_at(part(pod, "spec"), "nodeName")),
             .phase = phase_of(text_at(status, "phase"))};
  read_owner(metadata, row);
  if (row.name.empty() || row.job.empty() || row.index < 0) return std::nullopt;
  row.is_deleting = !text_at(metadata, "deletionTimestamp").empty();
  row.is_unlabelled = lacks_labels(metadata);
  row.has_finalizer = holds(list_at(metadata, "finalizers"), render::kRecordFinalizer);
  row.status_reason = brief(text_at(status, "reason"));
  row.status_text = brief(text_at(status, "message"));
  read_conditions(status, row);
  read_containers(status, row);
  if (row.is_running || row.is_over()) row.waits_for.reset();
  return row;
}

std::optional<JobRow> read_job(const json::object& job) {
  const auto& metadata = part(job, "metadata");
  JobRow row{.name = std::string(text_at(metadata, "name")),
             .uid = std::string(text_at(metadata, "uid")),
             .version = version_of(metadata),
             .is_unlabelled = lacks_labels(metadata),
             .stop_why = brief(text_at(part(metadata, "annotations"), kStopAnnotation))};
  if (row.name.empty()) return std::nullopt;
  const auto* suspend = field(part(job, "spec"), "suspend");
  row.is_suspended = suspend != nullptr && *suspend == json::value(true) && row.stop_why.empty();
  return row;
}

}  // namespace muster::pods
