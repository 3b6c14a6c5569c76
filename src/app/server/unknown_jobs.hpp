/// Folders in `jobs/` of which the store knows no job: somebody removed or exchanged store.db, and
/// what ran before cannot be found any more. Any reader's thread.
#pragma once
#include <optional>
#include <string>

#include "app/server/checks.hpp"
#include "edge/sqlite/records.hpp"

namespace muster::server {

struct UnknownJobs {
  std::size_t count = 0;
  std::string first;  // by name
};
Result<UnknownJobs> unknown_jobs(Records& records, const std::string& home);

/// For `doctor`; nothing when the store knows them all.
std::optional<Check> unknown_jobs_check(Records& records, const std::string& home);

}  // namespace muster::server
