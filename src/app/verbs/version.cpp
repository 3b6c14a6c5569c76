#include "app/cli/build.hpp"
#include "app/cli/context.hpp"
#include "app/cli/output.hpp"
#include "app/cli/verb.hpp"

namespace muster {
namespace {

Result<int> run(Context& context, const Parsed&) {
  const Build build = this_build();
  if (wants_record(context)) {
    TRY_VOID(print_record(
        context, fmt::format(R"({{"schema":1,"version":"{}","build_id":"{}","commit":"{}"}})",
                             build.version, build.build_id, build.commit)));
    return 0;
  }
  std::string line = fmt::format("muster {}", build.version);
  if (!build.commit.empty()) line += fmt::format(" ({})", build.commit);
  if (context.globals.verbose) line += fmt::format("\nbuild {}", build.build_id);
  print_line(context, line);
  return 0;
}

}  // namespace

Verb verb_version() {
  return {.name = "version",
          .aliases = {},
          .group = "About muster",
          .summary = "Print which muster this is",
          .usage = "version [-o json]",
          .operands = Operands::none,
          .options = {},
          .run = run};
}

}  // namespace muster
