#include "app/cli/after_submit.hpp"
#include "app/cli/client.hpp"
#include "app/cli/dry_run.hpp"
#include "app/cli/from_file.hpp"
#include "app/cli/output.hpp"
#include "app/cli/submit_flags.hpp"
#include "app/cli/take_code.hpp"
#include "app/cli/verb.hpp"

namespace muster {
namespace {

Result<int> run(Context& context, const Parsed& parsed) {
  TRY(const auto options, submit_options(parsed));
  if (parsed.has("dry-run")) return dry_run(context, parsed, options);
  if (parsed.has("show-secrets"))
    return fail(Kind::usage, "--show-secrets says how --dry-run shows them", "add --dry-run");
  if (const auto from = parsed.value("from")) return submit_from(context, *from, options);
  CodeTaker code(context);
  TRY(const auto job, resolve_here(context, options, code));
  TRY(const auto accepted, submit(context, job));
  return after_submit(context, parsed, accepted,
                      {.name = job.spec.name, .ranks = job.spec.request.ranks()});
}

std::vector<Option> options() {
  auto all = submit_flags();
  for (auto& option : after_submit_flags()) all.push_back(option);
  all.push_back({.name = "from",
                 .letter = 0,
                 .value = "FILE",
                 .text = "submit one JSON job a line from this file (- is stdin)",
                 .group = "What happens next"});
  all.push_back({.name = "dry-run",
                 .letter = 0,
                 .value = "",
                 .text = "show what would be stored, or created on the cluster, and do nothing",
                 .group = "What happens next"});
  all.push_back({.name = "show-secrets",
                 .letter = 0,
                 .value = "",
                 .text = "with --dry-run: the content of Secrets too, not its size alone",
                 .group = "What happens next"});
  return all;
}

}  // namespace

Verb verb_submit() {
  return {.name = "submit",
          .aliases = {},
          .group = "Jobs",
          .summary = "Submit a command as a job and return its id",
          .usage = "submit [options] [--] COMMAND [ARGUMENT...]",
          .operands = Operands::command,
          .options = options(),
          .run = run};
}

}  // namespace muster
