#include "app/api/routes.hpp"

#include <array>
#include <optional>
#include <vector>

#include "base/text.hpp"
#include "edge/http/message.hpp"

namespace muster::api {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kLines = "application/x-ndjson";
constexpr std::string_view kBytes = "application/octet-stream";
constexpr std::string_view kEvents = "text/event-stream";
constexpr std::string_view kId = "{id}";
constexpr std::size_t kLongestReference = 255;

constexpr std::array kRoutes{
    Route{"jobs.submit", "POST", "/v1/jobs", Access::write, kJson, kJson,
          "Submit one job; the answer is the job, stored"},
    Route{"jobs.batch", "POST", "/v1/jobs:batch", Access::write, kLines, kLines,
          "Submit one job a line; each line is answered in order, by its job or its error"},
    Route{"jobs.list", "GET", "/v1/jobs", Access::read, "", kJson, "List jobs, newest first"},
    Route{"jobs.get", "GET", "/v1/jobs/{id}", Access::read, "", kJson,
          "Show one job with its attempts"},
    Route{"jobs.abort", "POST", "/v1/jobs/{id}:abort", Access::write, kJson, kJson,
          "Stop a job for good; a finished one stays as it is"},
    Route{"jobs.resubmit", "POST", "/v1/jobs/{id}:resubmit", Access::write, kJson, kJson,
          "Submit a job again with the changes given; the old one is cancelled afterwards"},
    Route{"jobs.signal", "POST", "/v1/jobs/{id}:signal", Access::write, kJson, kJson,
          "Send a signal to the processes of a running job"},
    Route{"jobs.logs", "GET", "/v1/jobs/{id}/logs", Access::read, "", kBytes,
          "What the job printed, byte for byte; `follow` streams what comes"},
    Route{"jobs.events", "GET", "/v1/jobs/{id}/events", Access::read, "", kEvents,
          "What happened to one job; `follow` streams what comes"},
    Route{"jobs.why", "GET", "/v1/jobs/{id}/why", Access::read, "", kJson,
          "Why the job waits, or how it ended"},
    Route{"events", "GET", "/v1/events", Access::read, "", kEvents,
          "What happens to all jobs; the id of an event is its sequence number"},
    Route{"nodes", "GET", "/v1/nodes", Access::read, "", kJson,
          "Nodes, what they have and what is free"},
    Route{"summary", "GET", "/v1/summary", Access::read, "", kJson, "Counts of jobs by state"},
    Route{"version", "GET", "/v1/version", Access::read, "", kJson,
          "The server's version and build"},
    Route{"doctor", "GET", "/v1/doctor", Access::read, "", kJson,
          "What the server finds of this machine and of itself"},
    Route{"server.stop", "POST", "/v1/server:stop", Access::control, "", kJson,
          "Stop the server; running jobs are not disturbed"},
};

/// The part of the path that stands for "{id}" (empty without one); nothing: the pattern differs.
std::optional<std::string_view> captured(std::string_view pattern, std::string_view path) {
  const auto hole = pattern.find(kId);
  if (hole == pattern.npos)
    return pattern == path ? std::optional(std::string_view()) : std::nullopt;
  const auto before = pattern.substr(0, hole);
  const auto after = pattern.substr(hole + kId.size());
  if (path.size() <= before.size() + after.size()) return std::nullopt;
  if (!path.starts_with(before) || !path.ends_with(after)) return std::nullopt;
  const auto id = path.substr(before.size(), path.size() - before.size() - after.size());
  // An id holds neither: "/v1/jobs/x:abort" is not the job "x:abort".
  return id.find_first_of("/:") == id.npos ? std::optional(id) : std::nullopt;
}

bool serves(const Route& route, std::string_view method) {
  return route.method == method || (route.method == "GET" && method == "HEAD");
}

Miss bad_id(std::string_view id) {
  return {400,
          Error{.kind = Kind::usage,
                .what = fmt::format("\"{}\" cannot name a job", printable(id.substr(0, 200))),
                .where = {},
                .why = "a job is named by 1 to 255 bytes of its id or its name",
                .fix = {"list them: muster query"}},
          {}};
}

Miss not_allowed(std::string_view method, std::string_view path, const std::string& allow) {
  return {405,
          Error{.kind = Kind::usage,
                .what = fmt::format("{} does not work on {}", printable(method), printable(path)),
                .where = {},
                .why = {},
                .fix = {fmt::format("use {}", allow)}},
          allow};
}

/// The route whose words are nearest: parts are compared one by one, an id costs nothing.
const Route& nearest_route(std::string_view path) {
  const Route* best = kRoutes.data();
  std::size_t best_distance = path.size() + 1000;
  for (const auto& route : kRoutes) {
    std::string filled(route.pattern);
    if (const auto hole = filled.find(kId); hole != filled.npos) {
      const auto id = path.size() > hole ? path.substr(hole) : std::string_view();
      filled.replace(hole, kId.size(), id.substr(0, id.find_first_of("/:")));
    }
    const auto distance = edit_distance(path.substr(0, 200), filled);
    if (distance < best_distance) {
      best_distance = distance;
      best = &route;
    }
  }
  return *best;
}

Miss not_found(std::string_view path) {
  const auto& near = nearest_route(path);
  return {404,
          Error{.kind = Kind::not_found,
                .what = fmt::format("there is no {}", printable(path.substr(0, 200))),
                .where = {},
                .why = {},
                .fix = {fmt::format("the nearest is {} {}", near.method, near.pattern)}},
          {}};
}

}  // namespace

std::string_view name_of(Access access) {
  switch (access) {
    case Access::read: return "read";
    case Access::write: return "write";
    case Access::control: return "control";
  }
  return "?";
}

std::span<const Route> all_routes() { return kRoutes; }

const Route* route_named(std::string_view name) {
  for (const auto& route : kRoutes)
    if (route.name == name) return &route;
  return nullptr;
}

bool is_reference(std::string_view text) {
  return !text.empty() && text.size() <= kLongestReference && text.find('\0') == text.npos;
}

tl::expected<Match, Miss> match(std::string_view method, std::string_view path) {
  std::string allow;
  for (const auto& route : kRoutes) {
    const auto raw = captured(route.pattern, path);
    if (!raw) continue;
    if (!serves(route, method)) {
      allow += fmt::format("{}{}", allow.empty() ? "" : ", ", route.method);
      continue;
    }
    if (raw->empty()) return Match{&route, {}};
    auto id = http::percent_decoded(*raw);
    if (!id || !is_reference(*id)) return tl::unexpected(bad_id(*raw));
    return Match{&route, std::move(*id)};
  }
  if (!allow.empty()) return tl::unexpected(not_allowed(method, path, allow));
  return tl::unexpected(not_found(path));
}

Result<std::string> path_for(std::string_view route, std::string_view id) {
  const auto* found = route_named(route);
  if (found == nullptr) return fail(Kind::usage, fmt::format("there is no route \"{}\"", route));
  std::string path(found->pattern);
  const auto hole = path.find(kId);
  if (hole == path.npos) {
    if (id.empty()) return path;
    return fail(Kind::usage, fmt::format("the route {} takes no id", route));
  }
  if (!is_reference(id)) return tl::unexpected(bad_id(id).error);
  return path.replace(hole, kId.size(), http::percent_encoded(id));
}

std::string routes_markdown() {
  std::string text = "| name | route | access | takes | gives | |\n|---|---|---|---|---|---|\n";
  for (const auto& route : kRoutes)
    text += fmt::format("| `{}` | `{} {}` | {} | {} | {} | {} |\n", route.name, route.method,
                        route.pattern, name_of(route.access),
                        route.takes.empty() ? "-" : route.takes, route.gives, route.doc);
  return text;
}

}  // namespace muster::api
