#include <csignal>

#include "app/cli/client.hpp"
#include "app/cli/log_frames.hpp"
#include "app/cli/output.hpp"
#include "app/cli/safe_lines.hpp"
#include "app/cli/verb.hpp"
#include "app/cli/waiting.hpp"
#include "base/text.hpp"

namespace muster {
namespace {

Result<Call> call_of(const Parsed& parsed) {
  if (parsed.globals.format != Format::text)
    return fail(Kind::usage, "logs gives the job's own bytes, in no other format",
                "leave -o out; what is known of the job: muster query ID -o json");
  if (parsed.operands.size() != 1)
    return fail(Kind::usage, "logs takes one job", "muster logs ID; list jobs with muster query");
  Call call{.route = "jobs.logs", .id = parsed.operands.front()};
  call.query.emplace_back("rank", parsed.value("rank").value_or("0"));
  if (const auto attempt = parsed.value("attempt")) call.query.emplace_back("attempt", *attempt);
  if (const auto tail = parsed.value("tail")) call.query.emplace_back("tail", *tail);
  if (parsed.has("stdout") && !parsed.has("stderr")) call.query.emplace_back("stream", "out");
  if (parsed.has("stderr") && !parsed.has("stdout")) call.query.emplace_back("stream", "err");
  if (parsed.has("setup")) {
    if (parsed.has("stdout") || parsed.has("stderr"))
      return fail(Kind::usage, "the set-up writes one log: --setup stands alone",
                  "leave --stdout and --stderr out");
    call.query.emplace_back("stream", "setup");
  }
  if (parsed.has("follow")) call.query.emplace_back("follow", "1");
  return call;
}

/// One rank's bytes as they are, or the lines of several, each with its rank.
class LogPrinter {
 public:
  LogPrinter(Context& context, bool is_merged, bool is_safe)
      : context_(context), safe_(context), is_merged_(is_merged), is_safe_(is_safe) {}

  void put(std::string_view bytes) { is_safe_ ? safe_.feed(bytes) : context_.out->write(bytes); }

  void take(const LogFrame& frame) {
    const auto bytes = fresh_.of(frame);
    if (!is_merged_) return put(bytes);
    auto& rest = partial_[frame.rank];
    rest += bytes;
    for (auto end = rest.find('\n'); end != std::string::npos; end = rest.find('\n')) {
      put(fmt::format("[{}] {}\n", frame.rank, rest.substr(0, end)));
      rest.erase(0, end + 1);
    }
  }
  void rewind() { fresh_.rewind(); }

  void finish() {
    for (const auto& [rank, rest] : partial_)
      if (!rest.empty()) put(fmt::format("[{}] {}\n", rank, rest));
    if (is_safe_) safe_.finish();
  }

 private:
  Context& context_;
  SafeLines safe_;
  bool is_merged_;
  bool is_safe_;
  FreshBytes fresh_;
  std::map<int, std::string> partial_;  // the unfinished line of each rank
};

Result<> print_once(Context& context, const Call& call, LogPrinter& printer, bool is_framed) {
  TRY(auto* api, context.api());
  LogFrames frames;
  Result<> garbled;
  TRY_VOID(api->stream(call, [&](std::string_view chunk) {
    if (!is_framed)
      printer.put(chunk);
    else
      garbled = frames.feed(chunk, [&](const LogFrame& frame) { printer.take(frame); });
    return garbled.has_value() && !context.out->is_broken();
  }));
  return garbled;
}

Result<int> run(Context& context, const Parsed& parsed) {
  TRY(auto call, call_of(parsed));
  const bool is_merged = parsed.value("rank") == "all";
  // A server may go while its log is followed; the next one gives the stream from its beginning.
  const bool comes_back = parsed.has("follow") && !parsed.has("tail");
  const bool is_framed = is_merged || comes_back;
  if (is_framed) call.query.emplace_back("framed", "1");
  std::optional<Waiting> waiting;
  if (parsed.has("follow")) waiting.emplace(context, call.id);
  LogPrinter printer(context, is_merged, context.out_is_tty && !parsed.has("raw"));
  auto printed = print_once(context, call, printer, is_framed);
  constexpr int kTries = 10;
  for (int tries = 1; comes_back && !printed && printed.error().kind == Kind::unavailable;
       ++tries) {
    if (tries == kTries) break;
    printer.rewind();
    printed = print_once(context, call, printer, is_framed);
  }
  TRY_VOID(printed);
  printer.finish();
  return 0;
}

}  // namespace

Verb verb_logs() {
  return {.name = "logs",
          .aliases = {},
          .group = "Jobs",
          .summary = "Print what a job wrote",
          .usage = "logs [options] ID",
          .operands = Operands::some,
          .options =
              {{.name = "follow", .letter = 'f', .text = "go on until the job ends"},
               {.name = "rank", .letter = 'r', .value = "R", .text = "of this rank (0), or of all"},
               {.name = "attempt", .value = "K", .text = "of this attempt (the last), or of all"},
               {.name = "stdout", .text = "only stdout"},
               {.name = "stderr", .text = "only stderr"},
               {.name = "setup", .text = "what the set-up on the rank's node printed instead"},
               {.name = "tail", .value = "N", .text = "only the last N lines"},
               {.name = "raw", .text = "all bytes as they are, on a terminal too"}},
          .run = run};
}

}  // namespace muster
