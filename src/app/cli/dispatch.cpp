#include "app/cli/dispatch.hpp"

#include "app/cli/help.hpp"
#include "app/cli/output.hpp"
#include "app/cli/parse.hpp"

namespace muster {
namespace {

int finish(Context& context, Result<int> result) {
  int code = result ? *result : print_error(context, result.error());
  // An answer that did not arrive is no success.
  if (auto written = context.out->finish(); !written) {
    const int failed = print_error(context, written.error());
    if (code == 0) code = failed;
  }
  return code;
}

/// These answer even where there is no home folder.
bool needs_places(const Parsed& parsed) {
  constexpr std::string_view kWithout[] = {"agent", "help", "version"};
  return parsed.verb != nullptr && !parsed.help &&
         std::find(std::begin(kWithout), std::end(kWithout), parsed.verb->name) ==
             std::end(kWithout);
}

}  // namespace

int run_parsed(Context& context, const Parsed& parsed, const std::vector<Verb>& verbs) {
  if (parsed.verb == nullptr || parsed.help) {
    context.out->write(fitted(parsed.verb != nullptr ? help_text(*parsed.verb)
                              : parsed.help          ? overview_text(verbs)
                                                     : welcome_text(),
                              context.width));
    return finish(context, 0);
  }
  return finish(context, parsed.verb->run(context, parsed));
}

int run_command_line(std::span<const std::string> words, const std::vector<Verb>& verbs,
                     const Prepare& prepare) {
  const auto parsed = parse_command_line(words, verbs);
  Context bare = make_bare_context(parsed ? parsed->globals : Globals{});
  if (!parsed) return print_error(bare, parsed.error());
  if (!needs_places(*parsed)) return run_parsed(bare, *parsed, verbs);
  auto context = make_context(parsed->globals);
  if (!context) return print_error(bare, context.error());
  if (prepare) prepare(*context);
  return run_parsed(*context, *parsed, verbs);
}

}  // namespace muster
