#include "app/cli/after_submit.hpp"

#include "app/cli/follow.hpp"
#include "app/cli/output.hpp"
#include "base/text.hpp"
#include "core/model/json.hpp"

namespace muster {
namespace {

void announce(Context& context, const Accepted& accepted, const std::string& name, bool stays) {
  for (const auto& warning : accepted.warnings) warn(context, warning);
  if (context.globals.format == Format::name || !context.out_is_tty)
    print_line(context, accepted.id);
  else
    print_line(context, fmt::format("{} {}", accepted.existed ? "already submitted" : "submitted",
                                    paint(context, Style::bold, accepted.id)));
  if (context.globals.format != Format::text) return;
  if (!accepted.old.empty() && !accepted.existed)
    say(context, fmt::format("in the place of {}", accepted.old));
  if (!stays)
    say(context, fmt::format("follow it: muster logs -f {}",
                             name.empty() ? accepted.id : shell_quoted({&name, 1})));
}

Result<int> ranks_of(Context& context, const std::string& id) {
  TRY(const auto document, call_again(context, {.route = "jobs.get", .id = id}));
  TRY(const auto parsed, parse_json(document));
  const auto& job = parsed.as_object();
  return static_cast<int>(number_at(job, "nodes") * number_at(job, "procs_per_node"));
}

}  // namespace

std::vector<Option> after_submit_flags() {
  return {{.name = "follow",
           .letter = 'f',
           .value = "",
           .text = "then follow its output to the end",
           .group = "What happens next"},
          {.name = "wait",
           .letter = 'w',
           .value = "",
           .text = "then wait for its end; the exit code is the job's",
           .group = "What happens next"}};
}

Result<int> after_submit(Context& context, const Parsed& parsed, const Accepted& accepted,
                         const SubmittedJob& job) {
  const bool stays = parsed.has("follow") || parsed.has("wait");
  if (wants_record(context) && !stays) {
    TRY(const auto document, call_again(context, {.route = "jobs.get", .id = accepted.id}));
    TRY_VOID(print_record(context, document));
    return 0;
  }
  announce(context, accepted, job.name, stays);
  if (parsed.has("follow")) {
    TRY(const auto ranks, job.ranks > 0 ? Result<int>(job.ranks) : ranks_of(context, accepted.id));
    return follow_to_end(context, accepted.id, ranks, OnInterrupt::detach);
  }
  if (!parsed.has("wait")) return 0;
  TRY(const auto document, await_end(context, accepted.id));
  if (wants_record(context)) TRY_VOID(print_record(context, document));
  return exit_code_of(document);
}

}  // namespace muster
