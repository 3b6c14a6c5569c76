#include "app/server/routes.hpp"

#include <pwd.h>

#include <map>

#include "app/api/error_json.hpp"
#include "app/api/routes.hpp"
#include "base/check.hpp"

namespace muster::server {
namespace {

using Serve = std::function<void(Office&, const Ask&, const std::string& id)>;

template <class F>
Serve plain(F serve) {
  return [serve](Office& office, const Ask& ask, const std::string&) { serve(office, ask); };
}

const std::map<std::string_view, Serve>& table() {
  static const std::map<std::string_view, Serve> kTable = {
      {"jobs.submit", plain(submit_job)},
      {"jobs.batch", plain(submit_batch)},
      {"jobs.list", plain(list_jobs)},
      {"jobs.get", get_job},
      {"jobs.why", why_job},
      {"jobs.abort", abort_job},
      {"jobs.resubmit", resubmit_job},
      {"jobs.signal", signal_job},
      {"jobs.logs", job_logs},
      {"jobs.events", job_events},
      {"events", plain(all_events)},
      {"nodes", plain(list_nodes)},
      {"summary", plain(summary)},
      {"version", plain(version)},
      {"doctor", plain(doctor)},
      {"server.stop", plain(stop_server)},
  };
  return kTable;
}

}  // namespace

std::string user_name(std::uint32_t uid) {
  passwd entry{};
  passwd* found = nullptr;
  char buffer[4096];
  if (::getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) == 0 && found != nullptr)
    return found->pw_name;
  return fmt::format("uid-{}", uid);
}

void read(Office& office, const Ask& ask, std::function<Result<std::string>(Records&)> work,
          std::string content_type) {
  office.readers.run(
      [ask, work = std::move(work), type = std::move(content_type)](Records& records) {
        auto body = work(records);
        ask->answer(body ? http::Response{.content_type = type, .body = std::move(*body)}
                         : api::response_of(body.error()));
      },
      [ask](const Error& error) { ask->answer(api::response_of(error)); });
}

http::OnRequest make_router(Office& office) {
  for (const auto& route : api::all_routes())
    MUSTER_CHECK(table().contains(route.name), "route {} has no function", route.name);
  return [&office](const Ask& ask) {
    const auto matched = api::match(ask->request().method, ask->request().path);
    if (!matched) return ask->answer(api::response_of(matched.error()));
    table().at(matched->route->name)(office, ask, matched->id);
  };
}

}  // namespace muster::server
