#include "app/cli/backup.hpp"

#include "app/cli/output.hpp"
#include "app/cli/verb.hpp"
#include "base/text.hpp"
#include "core/model/json.hpp"

namespace muster {
namespace {

Result<int> run(Context& context, const Parsed& parsed) {
  if (parsed.operands.size() != 1)
    return fail(Kind::usage, "backup takes one folder", "muster backup FOLDER");
  TRY(const auto backup,
      take_backup(context.paths, parsed.operands.front(), !parsed.has("no-secrets")));
  if (wants_record(context)) {
    TRY_VOID(
        print_record(context, json::serialize(json::object{{"schema", 1},
                                                           {"folder", bytes_to_json(backup.folder)},
                                                           {"jobs", backup.jobs},
                                                           {"last_event", backup.last_event},
                                                           {"secrets", backup.has_secrets}})));
    return 0;
  }
  print_text(context, fmt::format("{} job{} in {}", backup.jobs, backup.jobs == 1 ? "" : "s",
                                  printable(backup.folder)));
  return 0;
}

}  // namespace

Verb verb_backup() {
  return {.name = "backup",
          .aliases = {},
          .group = "About muster",
          .summary = "Copy the store of this home to a new folder",
          .usage = "backup [--no-secrets] FOLDER",
          .operands = Operands::some,
          .options = {{.name = "no-secrets", .text = "leave the secrets out"}},
          .run = run};
}

}  // namespace muster
