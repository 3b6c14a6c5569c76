/// What is told while it happens: logs and events.
#include "app/api/error_json.hpp"
#include "app/server/followers.hpp"
#include "app/server/log_stream.hpp"
#include "app/server/routes.hpp"
#include "base/units.hpp"

namespace muster::server {
namespace {

bool wants_follow(const http::Request& request, bool otherwise) {
  const auto follow = request.parameter("follow");
  return follow ? *follow != "0" && *follow != "false" : otherwise;
}

/// From where on: the parameter, or what a reconnecting reader saw last.
Result<std::int64_t> after_of(const http::Request& request) {
  const auto after = request.parameter("after");
  const auto last = request.header("last-event-id");
  if (!after && last.empty()) return 0;
  return parse_whole(after ? *after : last, 0, INT64_MAX);
}

}  // namespace

void job_logs(Office& office, const Ask& ask, const std::string& id) {
  auto wish = log_wish(ask->request(), id);
  if (!wish) return ask->answer(api::response_of(wish.error()));
  serve_log(office, ask, std::move(*wish));
}

void job_events(Office& office, const Ask& ask, const std::string& id) {
  const auto after = after_of(ask->request());
  if (!after) return ask->answer(api::response_of(after.error()));
  office.readers.run(
      [&office, ask, id, after = *after](Records& records) {
        const auto seq = records.resolve(id);
        if (!seq) return ask->answer(api::response_of(seq.error()));
        const bool follow = wants_follow(ask->request(), false);
        office.followers->add({.after = after, .job = *seq, .follow = follow},
                              ask->stream(200, "text/event-stream"));
      },
      [ask](const Error& error) { ask->answer(api::response_of(error)); });
}

void all_events(Office& office, const Ask& ask) {
  const auto after = after_of(ask->request());
  if (!after) return ask->answer(api::response_of(after.error()));
  office.followers->add(
      {.after = *after, .job = std::nullopt, .follow = wants_follow(ask->request(), true)},
      ask->stream(200, "text/event-stream"));
}

}  // namespace muster::server
