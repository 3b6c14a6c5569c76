/// Job documents as people read them: the table, one job in full, why it waits or how it ended.
#pragma once
#include <string>
#include <string_view>

#include "app/cli/context.hpp"

namespace muster {

/// The table of a `{"jobs":[...]}` document. Wide adds user, times and attempts.
Result<> print_jobs(Context& context, std::string_view lines, bool is_filtered = false);
/// One job: facts, attempts, where its logs are.
Result<> print_job(Context& context, std::string_view job_json);
/// The answer to `why`.
Result<> print_why(Context& context, std::string_view why_json);

}  // namespace muster
