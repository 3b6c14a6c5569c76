#include <unistd.h>

#include "app/cli/client.hpp"
#include "app/cli/follow.hpp"
#include "app/cli/from_file.hpp"
#include "app/cli/output.hpp"
#include "app/cli/submit_flags.hpp"
#include "app/cli/take_code.hpp"
#include "app/cli/verb.hpp"
#include "base/text.hpp"

namespace muster {
namespace {

/// `name`: what the person called it; the shorter way to say which job.
void announce(Context& context, const Accepted& accepted, const std::string& name, bool stays) {
  for (const auto& warning : accepted.warnings) warn(context, warning);
  if (context.globals.format == Format::name || !context.out_is_tty)
    print_line(context, accepted.id);
  else
    print_line(context, fmt::format("{} {}", accepted.existed ? "already submitted" : "submitted",
                                    paint(context, Style::bold, accepted.id)));
  if (context.globals.format == Format::text && !stays)
    say(context, fmt::format("follow it: muster logs -f {}",
                             name.empty() ? accepted.id : shell_quoted({&name, 1})));
}

Result<int> run(Context& context, const Parsed& parsed) {
  TRY(const auto options, submit_options(parsed));
  if (const auto from = parsed.value("from")) return submit_from(context, *from, options);
  CodeTaker code(context);
  TRY(const auto job, resolve_here(context, options, code));
  TRY(const auto accepted, submit(context, job));
  const bool stays = parsed.has("follow") || parsed.has("wait");
  if (wants_record(context) && !stays) {
    TRY(const auto document, call_again(context, {.route = "jobs.get", .id = accepted.id}));
    TRY_VOID(print_record(context, document));
    return 0;
  }
  announce(context, accepted, job.spec.name, stays);
  if (parsed.has("follow"))
    return follow_to_end(context, accepted.id, job.spec.request.ranks(), OnInterrupt::detach);
  if (!parsed.has("wait")) return 0;
  TRY(const auto document, await_end(context, accepted.id));
  if (wants_record(context)) TRY_VOID(print_record(context, document));
  return exit_code_of(document);
}

std::vector<Option> options() {
  auto all = submit_flags();
  all.push_back({.name = "follow",
                 .letter = 'f',
                 .value = "",
                 .text = "then follow its output to the end",
                 .group = "What happens next"});
  all.push_back({.name = "wait",
                 .letter = 'w',
                 .value = "",
                 .text = "then wait for its end; the exit code is the job's",
                 .group = "What happens next"});
  all.push_back({.name = "from",
                 .letter = 0,
                 .value = "FILE",
                 .text = "submit one JSON job a line from this file (- is stdin)",
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
