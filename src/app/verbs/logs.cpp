#include <csignal>

#include "app/cli/client.hpp"
#include "app/cli/log_frames.hpp"
#include "app/cli/output.hpp"
#include "app/cli/verb.hpp"
#include "app/cli/waiting.hpp"
#include "base/text.hpp"

namespace muster {
namespace {

/// On a terminal nothing of a log may steer it: line by line, everything else escaped.
class SafeLines {
 public:
  explicit SafeLines(Context& context) : context_(context) {}
  void feed(std::string_view bytes) {
    rest_ += bytes;
    std::size_t at = 0;
    for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', at)) {
      print_line(context_, expanded(std::string_view(rest_).substr(at, end - at)));
      at = end + 1;
    }
    rest_.erase(0, at);
  }
  void finish() {
    if (!rest_.empty()) print_line(context_, expanded(rest_));
  }

 private:
  static std::string expanded(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    // A progress bar rewrites its line: the last version is the one to show.
    if (const auto back = line.rfind('\r'); back != std::string_view::npos)
      line.remove_prefix(back + 1);
    std::string text;
    for (const auto part : split(line, '\t')) text += (text.empty() ? "" : "\t") + printable(part);
    return text;
  }
  Context& context_;
  std::string rest_;
};

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
  if (parsed.has("follow")) call.query.emplace_back("follow", "1");
  return call;
}

Result<int> run(Context& context, const Parsed& parsed) {
  TRY(auto call, call_of(parsed));
  const bool is_merged = parsed.value("rank") == "all";
  if (is_merged) call.query.emplace_back("framed", "1");
  TRY(auto* api, context.api());
  std::optional<Waiting> waiting;
  if (parsed.has("follow")) waiting.emplace(context, call.id);
  SafeLines safe(context);
  const bool is_safe = context.out_is_tty && !parsed.has("raw");
  const auto put = [&](std::string_view bytes) {
    is_safe ? safe.feed(bytes) : context.out->write(bytes);
  };
  LogFrames frames;
  Result<> garbled;
  std::map<int, std::string> partial;  // the unfinished line of each rank
  const auto streamed = api->stream(call, [&](std::string_view chunk) {
    if (!is_merged) {
      put(chunk);
      return true;
    }
    garbled = frames.feed(chunk, [&](const LogFrame& frame) {
      auto& rest = partial[frame.rank];
      rest += frame.bytes;
      for (auto end = rest.find('\n'); end != std::string::npos; end = rest.find('\n')) {
        put(fmt::format("[{}] {}\n", frame.rank, rest.substr(0, end)));
        rest.erase(0, end + 1);
      }
    });
    return garbled.has_value();
  });
  TRY_VOID(streamed);
  TRY_VOID(garbled);
  for (const auto& [rank, rest] : partial)
    if (!rest.empty()) put(fmt::format("[{}] {}\n", rank, rest));
  if (is_safe) safe.finish();
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
               {.name = "tail", .value = "N", .text = "only the last N lines"},
               {.name = "raw", .text = "all bytes as they are, on a terminal too"}},
          .run = run};
}

}  // namespace muster
