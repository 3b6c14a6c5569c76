#include "app/cli/backup.hpp"
#include "app/cli/output.hpp"
#include "app/cli/verb.hpp"
#include "base/text.hpp"
#include "core/model/json.hpp"

namespace muster {
namespace {

std::string record_of(const Restored& restored) {
  json::array kept;
  for (const auto& path : restored.kept) kept.push_back(bytes_to_json(path));
  json::object out{{"schema", 1},
                   {"jobs", restored.backup.jobs},
                   {"created", restored.backup.created},
                   {"before", bytes_to_json(restored.before)}};
  out["kept"] = std::move(kept);
  return json::serialize(out);
}

Result<int> run(Context& context, const Parsed& parsed) {
  if (parsed.operands.size() != 1)
    return fail(Kind::usage, "restore takes one folder", "muster restore FOLDER");
  TRY(const auto restored,
      restore_backup(context.paths, parsed.operands.front(),
                     parsed.has("replace") ? OldStore::move_aside : OldStore::refuse));
  if (wants_record(context)) {
    TRY_VOID(print_record(context, record_of(restored)));
    return 0;
  }
  print_text(context, fmt::format("{} job{} as of {}", restored.backup.jobs,
                                  restored.backup.jobs == 1 ? "" : "s", restored.backup.created));
  if (!restored.before.empty())
    say(context, fmt::format("the store that was here: {}", printable(restored.before)));
  for (const auto& path : restored.kept)
    say(context, fmt::format("there already, and kept: {}", printable(path)));
  return 0;
}

}  // namespace

Verb verb_restore() {
  return {.name = "restore",
          .aliases = {},
          .group = "About muster",
          .summary = "Put a backup into this home",
          .usage = "restore [--replace] FOLDER",
          .operands = Operands::some,
          .options = {{.name = "replace", .text = "move a store that is there aside"}},
          .run = run};
}

}  // namespace muster
