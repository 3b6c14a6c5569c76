#include "app/cli/client.hpp"
#include "app/cli/follow.hpp"
#include "app/cli/output.hpp"
#include "app/cli/submit_flags.hpp"
#include "app/cli/verb.hpp"

namespace muster {
namespace {

Result<int> run(Context& context, const Parsed& parsed) {
  TRY(const auto options, submit_options(parsed));
  TRY(const auto job, resolve_here(context, options));
  TRY(const auto accepted, submit(context, job));
  for (const auto& warning : accepted.warnings) warn(context, warning);
  if (context.err_is_tty)
    say(context, paint_err(context, Style::dim, fmt::format("muster: job {}", accepted.id)));
  return follow_to_end(context, accepted.id, job.spec.request.ranks(), OnInterrupt::signal_job);
}

}  // namespace

Verb verb_run() {
  return {.name = "run",
          .aliases = {"local"},
          .group = "Jobs",
          .summary = "Run a command as a job and follow it to its end",
          .usage = "run [options] [--] COMMAND [ARGUMENT...]",
          .operands = Operands::command,
          .options = submit_flags(),
          .run = run};
}

}  // namespace muster
