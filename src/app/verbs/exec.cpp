#include "app/cli/exec_job.hpp"
#include "app/cli/parsed.hpp"
#include "app/cli/verb.hpp"
#include "base/units.hpp"

namespace muster {
namespace {

Result<int> run(Context& context, const Parsed& parsed) {
  const auto& words = parsed.operands;
  if (words.size() < 2)
    return fail(Kind::usage,
                words.empty() ? "exec needs a job and a command" : "exec needs a command",
                "muster exec ID -- COMMAND, as: muster exec train -- nvidia-smi");
  TRY(const auto rank,
      within(parse_whole(parsed.value("rank").value_or("0"), 0, 10'000'000), "--rank"));
  return exec_in_job(context, {.id = words.front(),
                               .rank = static_cast<int>(rank),
                               .argv = {words.begin() + 1, words.end()}});
}

}  // namespace

Verb verb_exec() {
  return {.name = "exec",
          .aliases = {},
          .group = "Jobs",
          .summary = "Run a command beside a running job",
          .usage = "exec [--rank N] ID -- COMMAND [ARGUMENT...]",
          .operands = Operands::some,
          .options = {{.name = "rank", .value = "N", .text = "beside which rank (0)"}},
          .run = run};
}

}  // namespace muster
