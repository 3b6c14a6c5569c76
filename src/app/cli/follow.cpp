#include "app/cli/follow.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>

#include "app/api/start.hpp"
#include "app/cli/client.hpp"
#include "app/cli/interrupts.hpp"
#include "app/cli/output.hpp"
#include "app/cli/waiting.hpp"
#include "base/text.hpp"
#include "core/model/json.hpp"

namespace muster {
namespace {

using std::chrono::steady_clock;
constexpr auto kTwice = std::chrono::seconds(3);

/// What a signal to an attached client means. Lives on the interrupt thread, with its own
/// connection.
class Interrupter {
 public:
  Interrupter(const Context& context, std::string id, OnInterrupt on_interrupt,
              std::shared_ptr<std::atomic<int>> sent)
      : home_(context.paths.state),
        is_tty_(context.err_is_tty),
        id_(std::move(id)),
        on_interrupt_(on_interrupt),
        sent_(std::move(sent)) {}

  void operator()(int number) {
    const auto now = steady_clock::now();
    const bool is_second = number == SIGINT && last_ && now - *last_ < kTwice;
    last_ = now;
    if (is_second) return abort("cancelling the job");
    if (on_interrupt_ == OnInterrupt::detach) return detach();
    const auto sent =
        ask({.route = "jobs.signal", .id = id_, .query = {{"number", std::to_string(number)}}});
    if (sent) return sent_->store(number);
    if (sent.error().kind == Kind::conflict) return abort("the job had not started: cancelling it");
    say(printable(sent.error().what));
  }

 private:
  void say(const std::string& line) const {
    // On a terminal the ^C stands at the end of a line already begun.
    const auto text = fmt::format("{}muster: {}\n", is_tty_ ? "\n" : "", line);
    (void)!::write(STDERR_FILENO, text.data(), text.size());
  }

  Result<std::string> ask(const Call& call) const {
    TRY(const auto api, api::connect_only(home_));
    return api->call(call);
  }

  void abort(std::string_view told) const {
    const auto done = ask({.route = "jobs.abort", .id = id_});
    say(done ? std::string(told) : printable(done.error().what));
  }

  void detach() {
    if (is_told_) return;
    is_told_ = true;
    say(
        fmt::format("not watching any more; the job goes on\n  see it:    muster logs -f {0}\n"
                    "  cancel it: muster abort {0}",
                    id_));
    ::_exit(130);
  }

  std::string home_;
  bool is_tty_;
  std::string id_;
  OnInterrupt on_interrupt_;
  std::shared_ptr<std::atomic<int>> sent_;  // the last signal handed on to the job
  std::optional<steady_clock::time_point> last_;
  bool is_told_ = false;
};

/// Says how it ended when its own output may not.
void tell_end(Context& context, const std::string& id, std::string_view document, int sent) {
  const auto parsed = parse_json(document);
  if (!parsed || !parsed->is_object()) return;
  const auto& job = parsed->get_object();
  if (text_at(job, "state") == "succeeded") return;
  const auto head = fmt::format("{} job {} {}", paint_err(context, Style::red, "muster:"), id,
                                text_at(job, "state"));
  if (sent != 0 && number_at(job, "signal") == sent)
    return say(context, fmt::format("{}: by the signal {} handed on to it", head, sent));
  const auto cause = named<Cause>(text_at(job, "cause")).value_or(Cause::none);
  if (cause == Cause::user_code && !context.err_is_tty) return;  // the exit code says it
  say(context, fmt::format("{}: {}", head, row_of(cause).text));
  const auto& attempts = list_at(job, "attempts");
  if (!attempts.empty())
    for (const auto& one : list_at(attempts.back().as_object(), "evidence"))
      say(context, fmt::format("  {}", printable(bytes_from_json(one).value_or("?"))));
  say(context, fmt::format("  more: muster why {}", id));
}

void block_pipe_signal() {
  sigset_t pipe;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
}

/// Nobody reads any more (`muster run ... | head`): the job is told as it would be in a plain pipe.
Result<int> end_by_pipe(Context& context, const std::string& id) {
  (void)call_again(
      context, {.route = "jobs.signal", .id = id, .query = {{"number", std::to_string(SIGPIPE)}}});
  if (context.err_is_tty)
    say(context, fmt::format("muster: stdout is closed; job {} got SIGPIPE and may go on", id));
  return 128 + SIGPIPE;
}

}  // namespace

Result<int> follow_to_end(Context& context, const std::string& id, int ranks,
                          OnInterrupt on_interrupt) {
  if (on_interrupt == OnInterrupt::signal_job) block_pipe_signal();
  const auto sent = std::make_shared<std::atomic<int>>(0);
  const Interrupts interrupts({SIGINT, SIGTERM, SIGQUIT},
                              Interrupter(context, id, on_interrupt, sent));
  {
    const Waiting waiting(context, id);
    TRY_VOID(follow_output(context, id, ranks));
  }
  if (context.out->is_broken()) return end_by_pipe(context, id);
  TRY(const auto document, await_end(context, id));
  tell_end(context, id, document, sent->load());
  return exit_code_of(document);
}

}  // namespace muster
