#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/cli/client.hpp"
#include "app/cli/follow.hpp"
#include "app/cli/interrupts.hpp"
#include "app/cli/output.hpp"
#include "app/cli/submit_flags.hpp"
#include "app/cli/take_code.hpp"
#include "app/cli/verb.hpp"

namespace muster {
namespace {

/// A job must be able to run when nobody is there, so it has no stdin; who offers one is told.
bool is_stdin_offered() {
  struct stat in{};
  if (::fstat(STDIN_FILENO, &in) != 0) return false;
  if (S_ISREG(in.st_mode)) return ::lseek(STDIN_FILENO, 0, SEEK_CUR) < in.st_size;
  int waiting = 0;
  return S_ISFIFO(in.st_mode) && ::ioctl(STDIN_FILENO, FIONREAD, &waiting) == 0 && waiting > 0;
}

Result<int> run(Context& context, const Parsed& parsed) {
  TRY(const auto options, submit_options(parsed));
  CodeTaker code(context);
  TRY(const auto job, resolve_here(context, options, code));
  TRY_VOID(context.api());  // a server, however long it takes to start
  // From here on there may be a job: whoever interrupts means it, not only this client.
  const HeldSignals held;
  TRY(const auto accepted, submit(context, job));
  // Nobody could watch it start: what `submit` warns of is an end here.
  if (!accepted.warnings.empty()) {
    TRY_VOID(call_again(context, {.route = "jobs.abort", .id = accepted.id}));
    return fail(Kind::exhausted, fmt::format("it can never start: {}", accepted.warnings.front()),
                "to queue it all the same: muster submit");
  }
  if (is_stdin_offered())
    warn(context,
         "the job does not get this stdin; to read a file: muster run --shell 'CMD < FILE'");
  if (context.err_is_tty)
    say(context, paint_err(context, Style::dim, fmt::format("muster: job {}", accepted.id)));
  return follow_to_end(context, accepted.id, job.spec.request.ranks(), OnInterrupt::signal_job);
}

}  // namespace

Verb verb_run() {
  return {.name = "run",
          .aliases = {"local"},
          .group = "Jobs",
          .summary = "Run a command as a job and follow it to its end",
          .usage = "run [options] [--] COMMAND [ARGUMENT...]",
          .operands = Operands::command,
          .options = submit_flags(),
          .run = run};
}

}  // namespace muster
