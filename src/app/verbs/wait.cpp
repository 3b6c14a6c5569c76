#include "app/cli/client.hpp"
#include "app/cli/output.hpp"
#include "app/cli/verb.hpp"
#include "base/time.hpp"
#include "core/model/json.hpp"

namespace muster {
namespace {

constexpr int kSomeFailed = 100, kTimedOut = 101, kSomeCancelled = 103;

std::string state_in(std::string_view document) {
  const auto parsed = parse_json(document);
  const auto* state =
      parsed && parsed->is_object() ? field(parsed->get_object(), "state") : nullptr;
  return state != nullptr && state->is_string() ? std::string(state->get_string()) : std::string();
}

Result<int> run(Context& context, const Parsed& parsed) {
  if (parsed.operands.empty())
    return fail(Kind::usage, "wait needs the jobs to wait for", "muster wait ID...");
  double timeout_s = 0;
  if (const auto text = parsed.value("timeout")) {
    TRY(const auto timeout, parse_duration(*text));
    timeout_s = std::max(static_cast<double>(timeout.count()) / 1e6, 0.001);
  }
  bool any_failed = false, any_cancelled = false;
  std::string last;
  for (const auto& id : parsed.operands) {
    auto document = await_end(context, id, timeout_s);
    if (!document && document.error().kind == Kind::exhausted) {
      say(context, document.error().what);
      return kTimedOut;
    }
    if (!document) return tl::unexpected(document.error());
    last = *document;
    const auto state = state_in(last);
    if (wants_record(context)) TRY_VOID(print_record(context, last));
    any_failed = any_failed || state == "failed";
    any_cancelled = any_cancelled || state == "cancelled";
  }
  if (parsed.operands.size() == 1) return exit_code_of(last);
  return any_failed ? kSomeFailed : any_cancelled ? kSomeCancelled : 0;
}

}  // namespace

Verb verb_wait() {
  return {.name = "wait",
          .aliases = {},
          .group = "Jobs",
          .summary = "Wait until jobs have ended",
          .usage = "wait [--timeout TIME] ID...",
          .operands = Operands::some,
          .options = {{.name = "timeout",
                       .value = "TIME",
                       .text = "give up after this long, with exit code 101"}},
          .run = run};
}

}  // namespace muster
