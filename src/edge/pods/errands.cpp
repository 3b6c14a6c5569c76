#include "edge/pods/errands.hpp"

#include <limits>

#include "core/model/json.hpp"
#include "core/render/names.hpp"
#include "edge/kube/list.hpp"

namespace muster::pods {
namespace {

using kube::Api;
using kube::ApiResult;

/// The API group of "batch/v1" and the version beside it.
kube::Resource resource_of(const render::Object& object) {
  const auto slash = object.api.find('/');
  if (slash == std::string::npos) return {"", object.api, object.resource};
  return {object.api.substr(0, slash), object.api.substr(slash + 1), object.resource};
}

const json::object& metadata_of(const json::object& object) {
  static const json::object kNone;
  const auto* metadata = field(object, "metadata");
  return metadata != nullptr && metadata->is_object() ? metadata->get_object() : kNone;
}

std::string uid_of(const std::string& object) {
  const auto parsed = parse_json(object);
  if (!parsed || !parsed->is_object()) return "";
  return std::string(text_at(metadata_of(parsed->get_object()), "uid"));
}

ApiResult<std::string> uid_of_job(Api& api, const std::string& space, const std::string& name) {
  API_TRY(const auto job, api.get({kube::jobs(), space, name}));
  return uid_of(job);
}

bool is_absent(const kube::ApiError& error) { return error.code == 404; }

constexpr auto kNeverAgain = std::numeric_limits<std::uint64_t>::max();

std::optional<JobRow> read_job_text(const std::string& text) {
  const auto parsed = parse_json(text);
  return parsed && parsed->is_object() ? read_job(parsed->get_object()) : std::nullopt;
}

}  // namespace

ApiResult<> create(Api& api, const std::string& space, const std::vector<render::Object>& objects) {
  std::string job;
  std::string uid;
  for (const auto& object : objects) {
    API_TRY(const auto created, api.create({resource_of(object), space}, object.json));
    if (object.kind != "Job") continue;
    job = object.name;
    uid = uid_of(created.object);
  }
  if (uid.empty()) {
    API_TRY(uid, uid_of_job(api, space, job));
  }
  for (const auto& object : objects)
    if (object.kind != "Job") {
      const auto patched = api.patch({resource_of(object), space, object.name},
                                     kube::PatchKind::merge, render::owner_patch(job, uid));
      if (!patched && !is_absent(patched.error())) return tl::unexpected(patched.error());
    }
  return {};
}

namespace {

/// A pod that is missed is there, or gone for good: no uid comes twice. Listed by its name: the
/// right to get pods is not needed for anything else.
ApiResult<> seek_pod(Api& api, const std::string& space, PodRow row, Board& board) {
  bool is_there = false;
  const kube::ListSink sink{.begin = [&] { is_there = false; },
                            .item =
                                [&](const json::object& pod) {
                                  if (text_at(metadata_of(pod), "uid") != row.uid) return;
                                  is_there = true;
                                  if (auto found = read_pod(pod)) board.put(std::move(*found));
                                }};
  API_TRY_VOID(kube::list(api, {kube::pods(), space},
                          {.labels = "", .fields = "metadata.name=" + row.name}, sink));
  if (is_there) return {};
  row.version = kNeverAgain;
  board.remove_pod(row);
  return {};
}

ApiResult<bool> seek_job(Api& api, const std::string& space, const std::string& name,
                         std::optional<JobRow> known, Board& board) {
  const auto text = api.get({kube::jobs(), space, name});
  if (!text && !is_absent(text.error())) return tl::unexpected(text.error());
  auto found = text ? read_job_text(*text) : std::nullopt;
  if (known && (!found || found->uid != known->uid)) {
    known->version = kNeverAgain;
    board.remove_job(*known);
  }
  if (found) board.put(std::move(*found));
  return text.has_value();
}

}  // namespace

ApiResult<bool> seek(Api& api, const std::string& space, const std::string& job, Board& board) {
  const auto group = board.group(job);
  for (const auto& pod : group.pods)
    // What was told to go is gone; what went without a word may have lost its labels.
    if (pod.is_missed || (pod.is_gone && !pod.is_deleting))
      API_TRY_VOID(seek_pod(api, space, pod, board));
  API_TRY(const bool is_there, seek_job(api, space, job, group.job, board));
  const kube::ListSink sink{.begin = {}, .item = [&](const json::object& pod) {
                              auto row = read_pod(pod);
                              if (row && board.is_ours(*row)) board.put(std::move(*row));
                            }};
  API_TRY_VOID(kube::list(api, {kube::pods(), space},
                          {.labels = fmt::format("{}={}", kJobNameLabel, job), .fields = ""},
                          sink));
  return is_there;
}

ApiResult<bool> stop(Api& api, const std::string& space, const std::string& job, Board& board,
                     const std::string& why, int grace_seconds) {
  const json::object patch{
      {"metadata", {{"annotations", {{kStopAnnotation, why}}}}},
      {"spec", {{"suspend", true}}},
  };
  const auto patched =
      api.patch({kube::jobs(), space, job}, kube::PatchKind::merge, json::serialize(patch));
  if (!patched) {
    if (is_absent(patched.error())) return false;
    return tl::unexpected(patched.error());
  }
  API_TRY_VOID(seek(api, space, job, board));
  for (const auto& pod : board.group(job).pods) {
    if (pod.is_over() || pod.is_gone) continue;
    API_TRY_VOID(
        api.remove({kube::pods(), space, pod.name}, {.run = kube::Run::real,
                                                     .propagation = kube::Propagation::background,
                                                     .uid = pod.uid,
                                                     .grace_seconds = grace_seconds}));
  }
  return true;
}

ApiResult<> release(Api& api, const std::string& space, const std::string& pod) {
  const json::object patch{
      {"metadata", {{"$deleteFromPrimitiveList/finalizers", {render::kRecordFinalizer}}}}};
  const auto patched =
      api.patch({kube::pods(), space, pod}, kube::PatchKind::strategic, json::serialize(patch));
  if (!patched && !is_absent(patched.error())) return tl::unexpected(patched.error());
  return {};
}

ApiResult<> remove(Api& api, const std::string& space, const std::string& job) {
  API_TRY_VOID(api.remove({kube::jobs(), space, job}));
  return {};
}

ApiResult<> remove_parts(Api& api, const std::string& space, const std::string& job) {
  API_TRY_VOID(api.remove({kube::services(), space, job}));
  API_TRY_VOID(api.remove({kube::secrets(), space, job}));
  API_TRY_VOID(api.remove({kube::secrets(), space, job + "-code"}));
  return {};
}

ApiResult<> relabel(Api& api, const kube::ObjectRef& object, const render::Labels& labels) {
  json::object wanted;
  for (const auto& [name, value] : labels) wanted[name] = value;
  const json::object patch{{"metadata", {{"labels", std::move(wanted)}}}};
  const auto patched = api.patch(object, kube::PatchKind::merge, json::serialize(patch));
  if (!patched && !is_absent(patched.error())) return tl::unexpected(patched.error());
  return {};
}

ApiResult<std::string> last_warning(Api& api, const std::string& space, const std::string& object) {
  std::string newest;
  std::string text;
  const kube::ListSink sink{.begin = [&] { newest.clear(); },
                            .item =
                                [&](const json::object& event) {
                                  auto at = std::string(text_at(event, "lastTimestamp"));
                                  if (at.empty()) at = text_at(event, "eventTime");
                                  if (!text.empty() && at < newest) return;
                                  newest = std::move(at);
                                  text = fmt::format("{}: {}", text_at(event, "reason"),
                                                     text_at(event, "message"));
                                }};
  API_TRY_VOID(kube::list(
      api, {kube::events(), space},
      {.labels = "", .fields = fmt::format("involvedObject.name={},type=Warning", object)}, sink));
  return text.substr(0, 512);
}

/// 401 and 408 pass; quota frees up, and comes as a 403 that says so.
bool is_final_refusal(const kube::ApiError& error) {
  if (error.code == 403) return error.what.find("exceeded quota") == std::string::npos;
  return error.code == 400 || error.code == 404 || error.code == 405 || error.code == 413 ||
         error.code == 422;
}

}  // namespace muster::pods
