#include "app/cli/help.hpp"

#include "app/cli/context.hpp"
#include "app/cli/parsed.hpp"
#include "base/text.hpp"

namespace muster {
namespace {

Result<int> run(Context& context, const Parsed& parsed) {
  const auto& verbs = all_verbs();
  if (parsed.operands.empty()) {
    context.out->write(fitted(overview_text(verbs), context.width));
    return 0;
  }
  for (const auto& word : parsed.operands) {
    const Verb* verb = find_verb(verbs, word);
    if (verb == nullptr) {
      std::vector<std::string> known;
      for (const auto& each : verbs) known.emplace_back(each.name);
      const auto near = nearest(word, known);
      return fail(
          Kind::not_found, fmt::format("no verb \"{}\"", printable(word)),
          near ? fmt::format("did you mean: muster help {}", *near) : "all verbs: muster help");
    }
    context.out->write(fitted(help_text(*verb), context.width));
  }
  return 0;
}

}  // namespace

Verb verb_help() {
  return {.name = "help",
          .aliases = {},
          .group = "About muster",
          .summary = "Explain muster or one of its verbs",
          .usage = "help [VERB]",
          .operands = Operands::some,
          .options = {},
          .run = run};
}

}  // namespace muster
