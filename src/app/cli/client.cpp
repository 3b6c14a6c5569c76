#include "app/cli/client.hpp"

#include <unistd.h>

#include <chrono>
#include <ctime>

#include "app/cli/files.hpp"
#include "app/cli/log_frames.hpp"
#include "app/cli/output.hpp"
#include "app/cli/settle_secrets.hpp"
#include "app/cli/submit_flags.hpp"
#include "app/cli/take_code.hpp"
#include "app/server/intake.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/model/cause.hpp"
#include "core/model/json.hpp"
#include "edge/fs/files.hpp"
#include "edge/node/probe.hpp"

namespace muster {
namespace {

constexpr int kTries = 10;

void rest(int tries) {
  const timespec pause{0, 20'000'000L * (tries + 1)};
  ::nanosleep(&pause, nullptr);
}

bool may_retry(const Error& error, int tries) {
  return error.kind == Kind::unavailable && tries + 1 < kTries;
}

/// Ended by the platform or a cancel, not by itself.
bool is_outside_end(Cause cause) {
  const auto cls = row_of(cause).cause_class;
  return cls == CauseClass::infrastructure || cause == Cause::cancelled ||
         cause == Cause::time_limit || cause == Cause::exec_failed;
}

constexpr const char* kGarbledFix = "muster doctor shows which server answers";

/// An object, or the server does not speak our language.
Result<json::value> parse_answer(std::string_view body) {
  auto parsed = parse_json(body);
  if (parsed && parsed->is_object()) return parsed;
  return fail(Kind::corrupt, "the server's answer cannot be read", kGarbledFix);
}

Result<> check_folder(const std::string& dir) {
  if (!fs::exists(dir))
    return fail(Kind::not_found, fmt::format("there is no folder {}", printable(dir)),
                "the job runs there: make it, or choose another with --dir");
  if (::access((dir + "/.").c_str(), X_OK) != 0)
    return fail(Kind::denied, fmt::format("the folder {} may not be entered", printable(dir)),
                "the job runs there: change its mode, or choose another with --dir");
  return {};
}

}  // namespace

Result<spec::ResolvedJob> resolve_job(Context& context, const spec::SubmitOptions& options) {
  TRY(const auto config, load_config(context));
  for (const auto& warning : config.warnings) warn(context, warning);
  TRY(const auto profile,
      spec::profile_of(config, options.cluster ? *options.cluster : spec::chosen_profile(config)));
  TRY(const auto machine, node::probe_machine());
  const auto nodes = node::machine_nodes(machine, profile);
  TRY(const auto submitter, submitter_of(context));
  TRY(auto job, spec::resolve(options, profile, nodes, submitter));
  TRY_VOID(check_folder(job.spec.dir));
  TRY_VOID(settle_secrets(context, job.env));
  if (job.spec.key.empty()) job.spec.key = to_hex(random_bytes(16));
  for (const auto& warning : job.warnings) warn(context, warning);
  return job;
}

Result<spec::ResolvedJob> resolve_here(Context& context, const spec::SubmitOptions& options,
                                       CodeTaker& code) {
  TRY(auto job, resolve_job(context, options));
  TRY_VOID(code.take(job));
  return job;
}

Result<std::string> call_again(Context& context, const Call& call) {
  for (int tries = 0;; ++tries) {
    auto api = context.api();
    auto body = api ? (*api)->call(call) : Result<std::string>(tl::unexpected(api.error()));
    if (body || !may_retry(body.error(), tries)) return body;
    rest(tries);
  }
}

Result<Accepted> submit(Context& context, const spec::ResolvedJob& job) {
  return accepted_by(context, {.route = "jobs.submit", .body = server::submission_json(job, true)});
}

Result<Accepted> accepted_by(Context& context, const Call& call) {
  TRY(const auto body, call_again(context, call));
  TRY(const auto parsed, parse_answer(body));
  const auto& object = parsed.get_object();
  if (text_at(object, "id").empty())
    return fail(Kind::corrupt, "the server's answer has no id", kGarbledFix);
  Accepted accepted{.id = std::string(text_at(object, "id")),
                    .existed = flag_at(object, "existed"),
                    .warnings = {},
                    .old = std::string(text_at(object, "old"))};
  for (const auto& warning : list_at(object, "warnings"))
    accepted.warnings.push_back(fmt::format("{}; {}", text_at(warning.as_object(), "text"),
                                            text_at(warning.as_object(), "fix")));
  return accepted;
}

Result<std::string> await_end(Context& context, const std::string& id, double timeout_s) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_s);
  for (int tries = 0;; ++tries) {
    TRY(auto document, call_again(context, {.route = "jobs.get", .id = id}));
    TRY(const auto parsed, parse_answer(document));
    const auto state = named<JobState>(text_at(parsed.get_object(), "state"));
    if (state && is_final(*state)) return document;
    if (timeout_s > 0 && std::chrono::steady_clock::now() > deadline)
      return fail(Kind::exhausted, fmt::format("job {} has not ended in time", id));
    auto api = context.api();
    if (!api) continue;
    // The stream ends with the job; heartbeats let a time-out be noticed.
    const auto streamed = (*api)->stream(
        {.route = "jobs.events", .id = id, .query = {{"follow", "1"}}}, [&](std::string_view) {
          return timeout_s <= 0 || std::chrono::steady_clock::now() < deadline;
        });
    if (!streamed && !may_retry(streamed.error(), tries)) return tl::unexpected(streamed.error());
  }
}

int exit_code_of(std::string_view job_json) {
  const auto parsed = parse_json(job_json);
  if (!parsed || !parsed->is_object()) return row_of(Kind::internal).exit_code;
  const auto& job = parsed->get_object();
  const auto cause = named<Cause>(text_at(job, "cause")).value_or(Cause::none);
  if (cause == Cause::exec_failed) return static_cast<int>(number_at(job, "exit_code"));
  if (is_outside_end(cause)) return 125;
  if (const auto signal = number_at(job, "signal"); signal != 0)
    return 128 + static_cast<int>(signal);
  const auto code = static_cast<int>(number_at(job, "exit_code"));
  // What never ran has no code of its own, and is no success.
  return code == 0 && cause != Cause::success ? 125 : code;
}

Result<> follow_output(Context& context, const std::string& id, int ranks) {
  OutputCopy copy(context);
  copy.set_ranks(ranks);
  for (int tries = 0;; ++tries) {
    auto api = context.api();
    if (!api && !may_retry(api.error(), tries)) return tl::unexpected(api.error());
    if (!api) continue;
    LogFrames frames;
    Result<> broken;
    const auto streamed = (*api)->stream(
        {.route = "jobs.logs",
         .id = id,
         .query = {{"follow", "1"}, {"framed", "1"}, {"rank", "all"}, {"attempt", "all"}}},
        [&](std::string_view chunk) {
          tries = 0;
          broken = frames.feed(chunk, [&](const LogFrame& frame) { copy.take(frame); });
          return broken.has_value() && !context.out->is_broken();
        });
    if (!broken || context.out->is_broken()) return broken;
    copy.rewind();  // a new stream begins at the beginning: what was copied is left out
    if (streamed) {
      TRY(const auto document, call_again(context, {.route = "jobs.get", .id = id}));
      TRY(const auto parsed, parse_answer(document));
      const auto state = named<JobState>(text_at(parsed.as_object(), "state"));
      if (state && is_final(*state)) return {};
      continue;
    }
    if (!may_retry(streamed.error(), tries)) return streamed;
    rest(tries);
  }
}

}  // namespace muster
