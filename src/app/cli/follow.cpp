#include "app/cli/follow.hpp"

#include <unistd.h>

#include <chrono>
#include <csignal>

#include "app/api/start.hpp"
#include "app/cli/client.hpp"
#include "app/cli/interrupts.hpp"
#include "app/cli/output.hpp"
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
  Interrupter(const Context& context, std::string id, OnInterrupt on_interrupt)
      : home_(context.paths.state), id_(std::move(id)), on_interrupt_(on_interrupt) {}

  void operator()(int number) {
    const auto now = steady_clock::now();
    const bool is_second = number == SIGINT && last_ && now - *last_ < kTwice;
    last_ = now;
    if (is_second) return send({.route = "jobs.abort", .id = id_}, "cancelling the job");
    if (on_interrupt_ == OnInterrupt::detach) return detach();
    send({.route = "jobs.signal", .id = id_, .query = {{"number", std::to_string(number)}}}, {});
  }

 private:
  void say(const std::string& text) const {
    (void)!::write(STDERR_FILENO, text.data(), text.size());
  }

  void send(const Call& call, const std::string& told) const {
    auto api = api::connect_only(home_);
    const auto done = api ? (*api)->call(call) : Result<std::string>(tl::unexpected(api.error()));
    if (!done)
      say(fmt::format("\nmuster: {}\n", printable(done.error().what)));
    else if (!told.empty())
      say(fmt::format("\nmuster: {}\n", told));
  }

  void detach() {
    if (is_told_) return;
    is_told_ = true;
    say(
        fmt::format("\nmuster: not watching any more; the job goes on\n  see it:    muster logs -f "
                    "{0}\n  cancel it: muster abort {0}\n",
                    id_));
    ::_exit(130);
  }

  std::string home_;
  std::string id_;
  OnInterrupt on_interrupt_;
  std::optional<steady_clock::time_point> last_;
  bool is_told_ = false;
};

std::string_view text_at(const json::object& object, std::string_view name) {
  const auto* value = field(object, name);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string())
                                                : std::string_view();
}

/// Says how it ended when its own output may not.
void tell_end(Context& context, const std::string& id, std::string_view document) {
  const auto parsed = parse_json(document);
  if (!parsed || text_at(parsed->as_object(), "state") == "succeeded") return;
  const auto cause = named<Cause>(text_at(parsed->as_object(), "cause")).value_or(Cause::none);
  const auto& row = row_of(cause);
  if (cause == Cause::user_code && !context.err_is_tty) return;  // the exit code says it
  say(context, fmt::format("{} job {} {}: {}", paint_err(context, Style::red, "muster:"), id,
                           text_at(parsed->as_object(), "state"), row.text));
  if (const auto* attempts = field(parsed->as_object(), "attempts");
      attempts != nullptr && attempts->is_array() && !attempts->get_array().empty())
    if (const auto* evidence = field(attempts->get_array().back().as_object(), "evidence");
        evidence != nullptr && evidence->is_array())
      for (const auto& one : evidence->get_array())
        if (one.is_string())
          say(context, fmt::format("  {}", printable(std::string_view(one.get_string()))));
  say(context, fmt::format("  more: muster why {}", id));
}

}  // namespace

Result<int> follow_to_end(Context& context, const std::string& id, int ranks,
                          OnInterrupt on_interrupt) {
  const Interrupts interrupts({SIGINT, SIGTERM, SIGQUIT}, Interrupter(context, id, on_interrupt));
  TRY_VOID(follow_output(context, id, ranks));
  TRY(const auto document, await_end(context, id));
  tell_end(context, id, document);
  return exit_code_of(document);
}

}  // namespace muster
