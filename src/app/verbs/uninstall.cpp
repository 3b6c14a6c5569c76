#include "app/cli/uninstall.hpp"

#include "app/cli/output.hpp"
#include "app/cli/stop_server.hpp"
#include "app/cli/verb.hpp"
#include "base/text.hpp"
#include "core/model/json.hpp"

namespace muster {
namespace {

json::array paths_json(const std::vector<std::string>& paths) {
  json::array list;
  for (const auto& path : paths) list.push_back(bytes_to_json(path));
  return list;
}

void print_paths(Context& context, std::string_view what, const std::vector<std::string>& paths) {
  for (const auto& path : paths) print_text(context, fmt::format("{} {}", what, printable(path)));
}

Result<int> run(Context& context, const Parsed& parsed) {
  const UninstallWish wish{.is_purge = parsed.has("purge"), .only_told = parsed.has("dry-run")};
  // A look disturbs nobody; what is really removed has no server any more.
  if (!wish.only_told) {
    TRY_VOID(stop_server(context.paths.state));
  }
  TRY(const auto removal, uninstall(context.paths, wish));
  if (wants_record(context)) {
    json::object out{{"schema", 1}};
    out["removed"] = paths_json(removal.removed);
    out["kept"] = paths_json(removal.kept);
    out["strange"] = paths_json(removal.strange);
    out["program"] = bytes_to_json(context.program);
    TRY_VOID(print_record(context, json::serialize(out)));
    return 0;
  }
  print_paths(context, wish.only_told ? "would go: " : "removed:  ", removal.removed);
  print_paths(context, "stays:    ", removal.kept);
  print_paths(context, "not muster's, stays:", removal.strange);
  say(context, fmt::format("the program itself: {}", printable(context.program)));
  return 0;
}

}  // namespace

Verb verb_uninstall() {
  return {.name = "uninstall",
          .aliases = {},
          .group = "About muster",
          .summary = "Remove everything muster made for you",
          .usage = "uninstall [--purge] [--dry-run]",
          .operands = Operands::none,
          .options = {{.name = "purge", .text = "profiles and secrets, too"},
                      {.name = "dry-run", .text = "name what would go; remove nothing"}},
          .run = run};
}

}  // namespace muster
