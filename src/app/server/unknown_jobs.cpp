#include "app/server/unknown_jobs.hpp"

#include "base/text.hpp"
#include "edge/fs/files.hpp"

namespace muster::server {

Result<UnknownJobs> unknown_jobs(Records& records, const std::string& home) {
  UnknownJobs unknown;
  for (const auto& name : fs::entries(home + "/jobs")) {
    TRY(const bool is_known, records.has(JobId(name)));
    if (is_known) continue;
    if (unknown.count++ == 0) unknown.first = name;
  }
  return unknown;
}

std::optional<Check> unknown_jobs_check(Records& records, const std::string& home) {
  const auto unknown = unknown_jobs(records, home);
  if (!unknown) return Check{"jobs", "warn", to_line(unknown.error()), ""};
  if (unknown->count == 0) return std::nullopt;
  return Check{"jobs", "warn",
               fmt::format("{} folders in {}/jobs are of jobs that the store does not know, as {}: "
                           "was store.db removed or exchanged?",
                           unknown->count, home, printable(unknown->first)),
               "put the old store.db back while no server runs, or remove the folders"};
}

}  // namespace muster::server
