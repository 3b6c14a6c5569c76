#include "app/cli/client.hpp"
#include "app/cli/output.hpp"
#include "app/cli/verb.hpp"
#include "base/text.hpp"
#include "core/model/json.hpp"

namespace muster {
namespace {

/// Every unfinished job of this person.
Result<std::vector<std::string>> mine(Context& context) {
  TRY(const auto document,
      call_again(context,
                 {.route = "jobs.list", .query = {{"final", "0"}, {"user", context.user}}}));
  TRY(const auto parsed, parse_json(document));
  std::vector<std::string> ids;
  for (const auto& job : parsed.at("jobs").as_array()) ids.emplace_back(job.at("id").as_string());
  return ids;
}

Result<int> run(Context& context, const Parsed& parsed) {
  auto ids = parsed.operands;
  if (parsed.has("all")) {
    TRY(ids, mine(context));
    if (ids.empty()) say(context, "nothing of yours is unfinished");
  } else if (ids.empty()) {
    return fail(Kind::usage, "abort needs the jobs to stop",
                "muster abort ID..., or --all for all of yours");
  }
  int code = 0;
  for (const auto& id : ids) {
    const auto document = call_again(context, {.route = "jobs.abort", .id = id});
    if (!document) {
      code = print_error(context, document.error());
      continue;
    }
    TRY(const auto parsed_job, parse_json(*document));
    const auto& job = parsed_job.as_object();
    if (wants_record(context))
      TRY_VOID(print_record(context, *document));
    else
      print_line(context, fmt::format("{} {}", std::string_view(job.at("id").as_string()),
                                      std::string_view(job.at("state").as_string())));
  }
  return code;
}

}  // namespace

Verb verb_abort() {
  return {.name = "abort",
          .aliases = {"a", "cancel"},
          .group = "Jobs",
          .summary = "Stop jobs for good",
          .usage = "abort [--all] ID...",
          .operands = Operands::some,
          .options = {{.name = "all", .text = "all unfinished jobs of yours"}},
          .run = run};
}

}  // namespace muster
