#include "edge/kube/api.hpp"

#include <algorithm>

#include "core/model/json.hpp"

namespace muster::kube {
namespace {

constexpr auto kFirstPause = std::chrono::milliseconds(100);
constexpr auto kLongestPause = std::chrono::seconds(10);
constexpr auto kLongestAsked = std::chrono::seconds(60);

/// Why a request failed, as far as trying again goes.
enum class Again { no, later };

/// `is_heard`: the request may have reached the server.
Again worth(const ApiError& error, const Call& call, bool is_heard) {
  const bool is_safe = call.repeat == Repeat::safe;
  if (error.code == 0) {
    if (error.kind != Kind::unavailable) return Again::no;
    return is_safe || !is_heard ? Again::later : Again::no;
  }
  if (error.code == 429) return Again::later;
  if (error.code == 503 || (error.code >= 500 && error.retry_after))
    return is_safe ? Again::later : Again::no;
  // Other failures of the server are repeated only where nothing can have been done: its words
  // about a write (a field that is not in the schema is a 500) are worth reading at once.
  if (error.code == 500 || error.code == 502 || error.code == 504)
    return call.method == "GET" ? Again::later : Again::no;
  return Again::no;
}

/// How far the tries of one request have come.
struct Course {
  int tries = 0;
  bool has_renewed = false;
  bool has_reconnected = false;
  Duration pause = kFirstPause;
  http::Deadline end;
};

http::ClientRequest request_of(const Call& call, http::Headers headers, const Cluster& cluster) {
  auto target = cluster.target_of(call.path);
  if (!call.query.empty()) target += "?" + http::query_text(call.query);
  headers.emplace_back("Accept", call.accept);
  return {.method = call.method,
          .target = std::move(target),
          .content_type = call.content_type,
          .body = call.body,
          .headers = std::move(headers)};
}

void add_run(http::Query& query, Run run) {
  if (run == Run::dry) query.emplace_back("dryRun", "All");
}

http::Query write_query(const WriteOptions& options) {
  http::Query query{{"fieldManager", options.manager}, {"fieldValidation", "Strict"}};
  add_run(query, options.run);
  return query;
}

std::string_view name_of(Propagation propagation) {
  switch (propagation) {
    case Propagation::foreground: return "Foreground";
    case Propagation::orphan: return "Orphan";
    case Propagation::background: break;
  }
  return "Background";
}

std::string remove_body(const RemoveOptions& options) {
  json::object body{{"apiVersion", "v1"},
                    {"kind", "DeleteOptions"},
                    {"propagationPolicy", std::string(name_of(options.propagation))}};
  if (!options.uid.empty()) body["preconditions"] = json::object{{"uid", options.uid}};
  if (options.grace_seconds) body["gracePeriodSeconds"] = *options.grace_seconds;
  if (options.run == Run::dry) body["dryRun"] = json::array{"All"};
  return json::serialize(body);
}

std::string_view type_of(PatchKind kind) {
  switch (kind) {
    case PatchKind::strategic: return "application/strategic-merge-patch+json";
    case PatchKind::json: return "application/json-patch+json";
    case PatchKind::merge: break;
  }
  return "application/merge-patch+json";
}

ApiError about(ApiError error, std::string_view doing, const std::string& what) {
  const auto where = fmt::format("{} {}", doing, what);
  error.where = error.where.empty() ? where : fmt::format("{}: {}", where, error.where);
  return error;
}

}  // namespace

Api::Api(std::shared_ptr<Cluster> cluster, http::Stop stop)
    : cluster_(std::move(cluster)), stop_(stop) {}

Result<> Api::ensure_connection(std::uint64_t certificate) {
  if (connection_ && certificate_ == certificate && connection_->is_usable()) return {};
  connection_.reset();
  TRY(connection_, cluster_->connect(stop_));
  certificate_ = certificate;
  return {};
}

ApiResult<Answer> Api::attempt(const Call& call, const Streaming* streaming, std::uint64_t& proof) {
  API_TRY_VOID(cluster_->wait_turn(stop_));
  API_TRY(auto shown, cluster_->proof(stop_));
  proof = shown.generation;
  API_TRY_VOID(ensure_connection(shown.connection));
  const auto request = request_of(call, std::move(shown.headers), *cluster_);
  auto response = streaming == nullptr
                      ? connection_->call(request)
                      : connection_->stream(request, streaming->on_chunk, streaming->silence);
  if (!response) return tl::unexpected(ApiError(std::move(response.error())));
  if (response->status / 100 != 2)
    return tl::unexpected(api_error(response->status, response->body, response->headers));
  return Answer{.status = response->status,
                .headers = std::move(response->headers),
                .body = std::move(response->body)};
}

ApiResult<Answer> Api::send(const Call& call, const Streaming* streaming) {
  const auto& options = cluster_->options();
  Course course{.end = http::after(options.patience)};
  bool has_begun = false;  // some of the body has gone to the caller: it is his to go on
  const http::OnChunk counting = [&](std::string_view chunk) {
    has_begun = true;
    return streaming->on_chunk(chunk);
  };
  const Streaming counted{.on_chunk = counting,
                          .silence = streaming ? streaming->silence : Duration{}};
  for (;;) {
    std::uint64_t proof = 0;
    const bool was_kept = connection_ && connection_->is_usable();
    auto answer = attempt(call, streaming == nullptr ? nullptr : &counted, proof);
    if (answer || has_begun) return answer;
    const auto& error = answer.error();
    if (error.code == 401 && !course.has_renewed && cluster_->refuse(proof)) {
      course.has_renewed = true;
      continue;
    }
    const bool is_heard = connection_.has_value();
    if (worth(error, call, is_heard) == Again::no) return answer;
    // The server had closed what was kept: no reason to wait.
    if (was_kept && error.code == 0 && !std::exchange(course.has_reconnected, true)) continue;
    if (++course.tries > call.retries.value_or(options.retries)) return answer;
    const auto pause = error.retry_after ? std::min<Duration>(*error.retry_after, kLongestAsked) +
                                               cluster_->jittered(kFirstPause)
                                         : cluster_->jittered(course.pause);
    course.pause = std::min<Duration>(course.pause * 2, kLongestPause);
    if (http::after(pause) > course.end) return answer;
    API_TRY_VOID(http::wait_for(-1, 0, stop_, http::after(pause)));
  }
}

ApiResult<Answer> Api::call(const Call& call) { return send(call, nullptr); }

ApiResult<> Api::stream(const Call& call, Duration silence, const http::OnChunk& on_chunk) {
  const Streaming streaming{.on_chunk = on_chunk, .silence = silence};
  API_TRY_VOID(send(call, &streaming));
  return {};
}

ApiResult<std::string> Api::get(const ObjectRef& object) {
  auto answer = call({.path = path_of(object)});
  if (!answer) return tl::unexpected(about(answer.error(), "reading", to_text(object)));
  return std::move(answer->body);
}

ApiResult<Api::Created> Api::create(const Collection& where, std::string object,
                                    const WriteOptions& options) {
  auto answer = call({.method = "POST",
                      .path = path_of(where),
                      .query = write_query(options),
                      .content_type = options.content_type,
                      .body = std::move(object)});
  if (answer) return Created{.is_new = true, .object = std::move(answer->body)};
  if (answer.error().is_existing()) return Created{.is_new = false, .object = {}};
  return tl::unexpected(about(answer.error(), "creating", to_text(where)));
}

ApiResult<std::string> Api::apply(const ObjectRef& object, std::string wanted,
                                  const WriteOptions& options) {
  auto query = write_query(options);
  query.emplace_back("force", "true");
  auto answer = call({.method = "PATCH",
                      .path = path_of(object),
                      .query = std::move(query),
                      .content_type = "application/apply-patch+yaml",
                      .body = std::move(wanted)});
  if (!answer) return tl::unexpected(about(answer.error(), "applying", to_text(object)));
  return std::move(answer->body);
}

ApiResult<std::string> Api::patch(const ObjectRef& object, PatchKind kind, std::string patch,
                                  const WriteOptions& options) {
  auto answer = call({.method = "PATCH",
                      .path = path_of(object),
                      .query = write_query(options),
                      .content_type = std::string(type_of(kind)),
                      .body = std::move(patch),
                      .repeat = kind == PatchKind::json ? Repeat::unsafe : Repeat::safe});
  if (!answer) return tl::unexpected(about(answer.error(), "changing", to_text(object)));
  return std::move(answer->body);
}

ApiResult<bool> Api::remove(const ObjectRef& object, const RemoveOptions& options) {
  auto answer = call({.method = "DELETE", .path = path_of(object), .body = remove_body(options)});
  if (answer) return true;
  if (answer.error().code == 404) return false;
  return tl::unexpected(about(answer.error(), "deleting", to_text(object)));
}

}  // namespace muster::kube
