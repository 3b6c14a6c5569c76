#include "edge/kube/pod_log.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "core/model/json.hpp"
#include "edge/kube/json_scope.hpp"
#include "edge/kube/log_dedup.hpp"
#include "edge/kube/log_lines.hpp"
#include "edge/kube/rfc3339.hpp"

namespace muster::kube {
namespace {

constexpr auto kFirstPause = std::chrono::milliseconds(200);
constexpr auto kLongestPause = std::chrono::seconds(5);
constexpr int kTriesForNow = 5;  // when only what is there is wanted, somebody waits for it

enum class Life { unknown, waiting, running, over };

Life life_in(const json::object& status, std::string_view list, std::string_view container) {
  for (const auto& item : list_at(status, list)) {
    if (!item.is_object()) continue;
    const auto& one = item.get_object();
    if (!container.empty() && text_at(one, "name") != container) continue;
    const auto& state = object_at(one, "state");
    if (field(state, "terminated") != nullptr) return Life::over;
    return field(state, "running") != nullptr ? Life::running : Life::waiting;
  }
  return Life::unknown;
}

Life life_of(const json::object& pod, std::string_view container) {
  const auto& status = object_at(pod, "status");
  const auto phase = text_at(status, "phase");
  if (phase == "Succeeded" || phase == "Failed") return Life::over;
  auto life = life_in(status, "containerStatuses", container);
  if (life == Life::unknown && !container.empty())
    life = life_in(status, "initContainerStatuses", container);
  return life;
}

/// A name that will never have a log is not waited for.
Result<> check_container(const json::object& pod, const std::string& container) {
  const auto& spec = object_at(pod, "spec");
  if (container.empty() && list_at(spec, "containers").size() > 1)
    return fail(Kind::usage, "the pod has several containers", "name one of them");
  if (container.empty()) return {};
  for (const auto* list : {"containers", "initContainers", "ephemeralContainers"})
    for (const auto& item : list_at(spec, list))
      if (item.is_object() && text_at(item.get_object(), "name") == container) return {};
  return fail(Kind::not_found,
              fmt::format("the pod has no container \"{}\"", printable(container)));
}

class Reading {
 public:
  Reading(Api& api, const LogSource& source, const LogOptions& options, const OnLogLine& on_line)
      : api_(api), source_(source), options_(options), on_line_(on_line) {}

  ApiResult<> run() {
    const bool is_followed = options_.until == Until::end && !options_.is_previous;
    return is_followed ? follow() : read_surely();
  }

 private:
  http::Query query(bool is_followed) const {
    http::Query query{{"timestamps", "true"}};
    if (!source_.container.empty()) query.emplace_back("container", source_.container);
    if (options_.is_previous) query.emplace_back("previous", "true");
    if (is_followed) query.emplace_back("follow", "true");
    const auto since = dedup_.since();
    if (!since.empty()) {
      query.emplace_back("sinceTime", since);
      return query;
    }
    if (!options_.since.empty()) query.emplace_back("sinceTime", options_.since);
    if (options_.tail) query.emplace_back("tailLines", std::to_string(*options_.tail));
    return query;
  }

  bool give(const RawLogLine& line, bool is_last_word) {
    const auto time = nanoseconds_of(line.time);
    // Without a time it is not the container's line but the node's word about it, and as that may
    // be said again and again it counts only at the end.
    if (!time && !is_last_word) return true;
    if (time && !dedup_.is_new(*time, line.text)) return true;
    has_progress_ = true;
    is_stopped_ = !on_line_({line.time, line.text, line.has_newline});
    return !is_stopped_;
  }

  /// One request, to the end of its answer.
  ApiResult<> read_once(bool is_followed) {
    dedup_.reconnect();
    has_progress_ = false;
    LogLines lines;
    const LogLines::OnLine on_line = [&](const RawLogLine& line) {
      return give(line, !is_followed);
    };
    const Call call{.path = path_of(ObjectRef{pods(), source_.space, source_.pod, "log"}),
                    .query = query(is_followed),
                    .accept = "*/*",
                    .retries = 0};
    API_TRY_VOID(api_.stream(call,
                             is_followed ? options_.silence : api_.cluster().options().silence,
                             [&](std::string_view chunk) { return lines.feed(chunk, on_line); }));
    // A line without an end may only be cut; it is whole when nothing follows any more.
    if (!is_stopped_ && !is_followed) lines.finish(on_line);
    return {};
  }

  /// All that is there now; what breaks off is read again.
  ApiResult<> read_surely() {
    Duration pause = kFirstPause;
    for (int tries = 1;; ++tries) {
      auto read = read_once(false);
      if (read || is_stopped_) return {};
      if (!is_passing(read.error()) || tries == kTriesForNow) return read;
      API_TRY_VOID(rest(pause));
      pause *= 2;
    }
  }

  static bool is_passing(const ApiError& error) {
    return error.code == 429 || error.code >= 500 ||
           (error.code == 0 && error.kind == Kind::unavailable);
  }

  ApiResult<> follow() {
    Duration pause = kFirstPause;
    for (;;) {
      auto read = read_once(true);
      if (is_stopped_) return {};
      if (!read && error_ends(read.error())) return read;
      if (has_progress_) pause = kFirstPause;
      API_TRY(const auto life, look());
      if (life == Life::over) return finish();
      API_TRY_VOID(rest(api_.cluster().jittered(pause)));
      pause = std::min<Duration>(pause * 2, kLongestPause);
    }
  }

  /// 400: the container has not started; its log comes later.
  static bool error_ends(const ApiError& error) {
    return !is_passing(error) && error.code != 400 && error.code != 404;
  }

  /// What came between the last answer and the container's end. A log that went with its pod is
  /// over.
  ApiResult<> finish() {
    auto read = read_surely();
    if (!read && (read.error().code == 404 || read.error().code == 400) && was_seen_) return {};
    return read;
  }

  ApiResult<Life> look() {
    auto text = api_.get({pods(), source_.space, source_.pod});
    if (!text && text.error().code == 404 && was_seen_) return Life::over;
    if (!text && is_passing(text.error())) return Life::unknown;
    if (!text) return tl::unexpected(text.error());
    was_seen_ = true;
    auto life = Life::unknown;
    API_TRY_VOID(scope_.with(*text, [&](const json::object& pod) -> Result<> {
      life = life_of(pod, source_.container);
      return check_container(pod, source_.container);
    }));
    return life;
  }

  Result<> rest(Duration pause) {
    TRY_VOID(http::wait_for(-1, 0, api_.stop(), http::after(pause)));
    return {};
  }

  Api& api_;
  const LogSource& source_;
  const LogOptions& options_;
  const OnLogLine& on_line_;
  LogDedup dedup_;
  JsonScope scope_;
  bool has_progress_ = false;
  bool is_stopped_ = false;
  bool was_seen_ = false;  // the pod exists, or did
};

}  // namespace

ApiResult<> read_log(Api& api, const LogSource& source, const LogOptions& options,
                     const OnLogLine& on_line) {
  return Reading(api, source, options, on_line).run();
}

}  // namespace muster::kube
