/// One function per route of app/api/routes.cpp. Called on the http thread; none of them blocks.
#pragma once
#include "app/server/office.hpp"

namespace muster::server {

/// The callback for http::Server: matches the route table and calls the route's function.
http::OnRequest make_router(Office& office);

// jobs_routes.cpp
void submit_job(Office& office, const Ask& ask);
void submit_batch(Office& office, const Ask& ask);
void list_jobs(Office& office, const Ask& ask);
void get_job(Office& office, const Ask& ask, const std::string& id);
void why_job(Office& office, const Ask& ask, const std::string& id);
void abort_job(Office& office, const Ask& ask, const std::string& id);
void signal_job(Office& office, const Ask& ask, const std::string& id);
/// What a submission is answered with.
std::string accepted_json(const engine::Answer& answer);
void resubmit_job(Office& office, const Ask& ask, const std::string& id);
// stream_routes.cpp
void job_logs(Office& office, const Ask& ask, const std::string& id);
void job_events(Office& office, const Ask& ask, const std::string& id);
void all_events(Office& office, const Ask& ask);
// about_routes.cpp
void list_nodes(Office& office, const Ask& ask);
void summary(Office& office, const Ask& ask);
void version(Office& office, const Ask& ask);
void doctor(Office& office, const Ask& ask);
void stop_server(Office& office, const Ask& ask);

/// Runs on a reader's thread; an error is answered by itself.
void read(Office& office, const Ask& ask, std::function<Result<std::string>(Records&)> work,
          std::string content_type = "application/json");

}  // namespace muster::server
