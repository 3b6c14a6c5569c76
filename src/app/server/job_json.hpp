/// Jobs as documents (docs/reference/job.md). JSON text in, JSON text out: no JSON type leaves
/// here.
#pragma once
#include <string>
#include <vector>

#include "core/model/reason.hpp"
#include "edge/sqlite/records.hpp"

namespace muster::server {

/// One job without its attempts, as lists have it.
std::string job_json(const JobRow& row, const std::vector<Reason>& reasons);
/// One job with its attempts.
std::string job_json(const JobDetail& detail, const std::vector<Reason>& reasons);
/// `{"schema":1,"jobs":[...]}` of documents already made.
std::string jobs_json(const std::vector<std::string>& jobs);
/// How it waits or ended, with causes explained: the answer to `why`.
std::string why_json(const JobDetail& detail, const std::vector<Reason>& reasons);
/// One event as the stream tells it.
std::string event_json(const EventRow& row);

}  // namespace muster::server
