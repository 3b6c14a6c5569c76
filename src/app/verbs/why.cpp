#include "app/cli/client.hpp"
#include "app/cli/job_text.hpp"
#include "app/cli/output.hpp"
#include "app/cli/verb.hpp"

namespace muster {
namespace {

Result<int> run(Context& context, const Parsed& parsed) {
  if (parsed.operands.empty())
    return fail(Kind::usage, "why needs a job", "muster why ID; list jobs with muster query");
  for (const auto& id : parsed.operands) {
    TRY(const auto document, call_again(context, {.route = "jobs.why", .id = id}));
    if (wants_record(context))
      TRY_VOID(print_record(context, document));
    else
      TRY_VOID(print_why(context, document));
  }
  return 0;
}

}  // namespace

Verb verb_why() {
  return {.name = "why",
          .aliases = {"explain"},
          .group = "Jobs",
          .summary = "Tell why a job waits, or why it ended as it did",
          .usage = "why ID...",
          .operands = Operands::some,
          .options = {},
          .run = run};
}

}  // namespace muster
