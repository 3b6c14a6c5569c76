#include "edge/kube/watch.hpp"

#include <charconv>
#include <deque>
#include <optional>

#include "base/text.hpp"
#include "core/model/json.hpp"
#include "edge/kube/json_scope.hpp"
#include "edge/kube/watch_lines.hpp"

namespace muster::kube {
namespace {

/// After so many refusals of a version that is ahead of the server, it is taken to be another
/// server's (restored from a backup), and everything is read anew.
constexpr int kAheadAtMost = 5;

bool is_initial_end(const json::object& bookmark) {
  const auto& annotations = object_at(object_at(bookmark, "metadata"), "annotations");
  return text_at(annotations, "k8s.io/initial-events-end") == "true";
}

std::optional<std::uint64_t> number_of(std::string_view version) {
  std::uint64_t number = 0;
  const auto* end = version.data() + version.size();
  const auto [at, error] = std::from_chars(version.data(), end, number);
  return error == std::errc() && at == end ? std::optional(number) : std::nullopt;
}

/// Versions that are no numbers are taken to come in order.
bool is_behind(std::string_view version, std::string_view other) {
  const auto a = number_of(version);
  const auto b = number_of(other);
  return a && b && *a < *b;
}

/// The versions that were reached, and when: where a watch that tells everything twice begins.
class Trail {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// The last version that was reached `back` ago or before; the oldest one there is when none was.
  std::string begin(const std::string& version, Duration back, Time now) {
    steps_.emplace_back(now, version);
    while (steps_.size() > 1 && steps_[1].first <= now - back) steps_.pop_front();
    return steps_.front().second;
  }
  /// False when there is nothing to forget.
  bool forget() {
    const bool is_long = steps_.size() > 1;
    steps_.clear();
    return is_long;
  }

 private:
  std::deque<std::pair<Time, std::string>> steps_;
};

/// Refusals that mean "not like this" rather than "not now" or "not you".
bool is_unsupported(const ApiError& error) {
  return error.code == 400 || error.code == 405 || error.code == 406 || error.code == 422 ||
         error.code == 501;
}

class Following {
 public:
  Following(Api& api, const Collection& where, const WatchOptions& options, const WatchSink& sink)
      : api_(api),
        where_(where),
        options_(options),
        sink_(sink),
        is_streaming_(options.is_streaming_list),
        pause_(options.first_pause) {}

  void run() {
    for (;;) {
      has_progress_ = false;
      auto round = version_.empty() && !is_streaming_ ? list_all() : watch_once();
      if (!round && round.error().kind == Kind::cancelled) return;
      if (has_progress_) pause_ = options_.first_pause;
      if (!go_on(round)) return;
    }
  }

 private:
  /// Decides what the next round is; false when the pause before it was broken off.
  bool go_on(const ApiResult<>& round) {
    if (round) {
      if (sink_.heard) sink_.heard();
      // The server ends watches as a matter of course; one that ends at once would spin.
      return has_progress_ || rest(options_.first_pause);
    }
    const auto& error = round.error();
    if (is_initial_ && is_streaming_ && is_unsupported(error)) {
      is_streaming_ = false;
      return true;
    }
    if (error.is_gone()) {
      if (trail_.forget()) return true;  // too far back: on from where we are
      version_.clear();
      if (!std::exchange(was_gone_, true)) return true;  // it happens, and is no trouble
    } else if (error.has_cause("ResourceVersionTooLarge") && ++ahead_ >= kAheadAtMost) {
      ahead_ = 0;
      version_.clear();
      trail_.forget();
      if (sink_.set_back) sink_.set_back();
    }
    if (sink_.trouble) sink_.trouble(error);
    const auto pause = std::max(pause_, error.retry_after.value_or(Duration{}));
    pause_ = std::min(pause_ * 2, options_.longest_pause);
    return rest(api_.cluster().jittered(pause));
  }

  bool rest(Duration pause) {
    return http::wait_for(-1, 0, api_.stop(), http::after(pause)).has_value();
  }

  ApiResult<> list_all() {
    is_initial_ = false;
    const ListSink items{.begin = sink_.begin, .item = [&](const json::object& item) {
                           if (sink_.change) sink_.change(Change::added, item);
                         }};
    API_TRY(auto listed, list(api_, where_, options_.selection, items, options_.page));
    version_ = std::move(listed.version);
    if (version_.empty())
      return tl::unexpected(
          ApiError(fail(Kind::corrupt, "the cluster's list has no version").value()));
    has_progress_ = true;
    if (sink_.synced) sink_.synced();
    return {};
  }

  http::Query query(Duration lease) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(lease).count();
    http::Query query{{"watch", "true"},
                      {"allowWatchBookmarks", "true"},
                      {"timeoutSeconds", std::to_string(std::max<std::int64_t>(seconds, 1))}};
    if (is_initial_) {
      query.emplace_back("sendInitialEvents", "true");
      query.emplace_back("resourceVersionMatch", "NotOlderThan");
    } else {
      query.emplace_back("resourceVersion", trail_.begin(version_, options_.overlap,
                                                         std::chrono::steady_clock::now()));
    }
    const auto& selection = options_.selection;
    if (!selection.labels.empty()) query.emplace_back("labelSelector", selection.labels);
    if (!selection.fields.empty()) query.emplace_back("fieldSelector", selection.fields);
    return query;
  }

  /// From the version that was reached, or, without one, from a streamed list.
  ApiResult<> watch_once() {
    is_initial_ = version_.empty();
    if (is_initial_ && sink_.begin) sink_.begin();
    const auto lease = api_.cluster().jittered(options_.lease * 2);
    const Call call{.path = path_of(where_), .query = query(lease), .retries = 0};
    WatchLines lines;
    std::optional<ApiError> told;
    Result<> read;
    API_TRY_VOID(api_.stream(call, lease + options_.slack, [&](std::string_view chunk) {
      read = lines.feed(chunk, [&](WatchType type, const json::object& object) -> Result<> {
        if (type != WatchType::error) return take(type, object);
        told = api_error(object);
        return fail(told->kind, "");
      });
      return read.has_value();
    }));
    if (told) return tl::unexpected(*told);
    API_TRY_VOID(read);
    if (!is_initial_) return {};
    return tl::unexpected(
        ApiError(fail(Kind::unavailable, "the watch ended before everything had come").value()));
  }

  Result<> take(WatchType type, const json::object& object) {
    has_progress_ = true;
    was_gone_ = false;
    ahead_ = 0;
    if (!is_initial_ || (type == WatchType::bookmark && is_initial_end(object)))
      if (const auto version = version_of(object);
          !version.empty() && !is_behind(version, version_))
        version_ = version;
    if (sink_.heard) sink_.heard();
    if (type != WatchType::bookmark) {
      const auto change = type == WatchType::added      ? Change::added
                          : type == WatchType::modified ? Change::modified
                                                        : Change::deleted;
      if (sink_.change) sink_.change(change, object);
    } else if (is_initial_ && !version_.empty()) {
      is_initial_ = false;
      if (sink_.synced) sink_.synced();
    }
    return {};
  }

  Api& api_;
  const Collection& where_;
  const WatchOptions& options_;
  const WatchSink& sink_;
  bool is_streaming_;
  Duration pause_;
  std::string version_;  // the furthest; empty: everything has to be read first
  Trail trail_;
  bool is_initial_ = false;    // the streamed list is not complete yet
  bool has_progress_ = false;  // in this round
  bool was_gone_ = false;      // the version, since something came
  int ahead_ = 0;
};

}  // namespace

void follow(Api& api, const Collection& where, const WatchOptions& options, const WatchSink& sink) {
  Following(api, where, options, sink).run();
}

Watch::Watch(std::shared_ptr<Cluster> cluster, Collection where, WatchOptions options,
             WatchSink sink)
    : thread_([this, cluster = std::move(cluster), where = std::move(where),
               options = std::move(options), sink = std::move(sink)] {
        Api api(cluster, cancel_.stop());
        follow(api, where, options, sink);
      }) {}

Watch::~Watch() {
  cancel_.set();
  thread_.join();
}

}  // namespace muster::kube
