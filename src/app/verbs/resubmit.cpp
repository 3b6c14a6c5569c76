#include "app/cli/after_submit.hpp"
#include "app/cli/client.hpp"
#include "app/cli/output.hpp"
#include "app/cli/settle_secrets.hpp"
#include "app/cli/submit_flags.hpp"
#include "app/cli/take_code.hpp"
#include "app/cli/verb.hpp"
#include "app/server/intake.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/model/json.hpp"

namespace muster {
namespace {

/// The code that stands now where the old job's was taken.
Result<json::value> latest_code(const std::string& id, Context& context, CodeTaker& taker,
                                bool allow_racy) {
  TRY(const auto document, call_again(context, {.route = "jobs.get", .id = id}));
  TRY(const auto parsed, parse_json(document));
  const auto* code = field(parsed.as_object(), "code");
  if (code == nullptr || !code->is_object())
    return fail(Kind::usage, fmt::format("job {} runs in place: it has no snapshot", printable(id)),
                "leave --latest-code out: it sees its folder as it is");
  const auto top = bytes_from_json(*field(code->get_object(), "top"));
  const auto below = bytes_from_json(*field(code->get_object(), "below"));
  if (!top || !below) return fail(Kind::corrupt, "the server's answer cannot be read");
  TRY(const auto taken, taker.take_folder(*top, allow_racy));
  json::object out{{"snapshot", taken.snapshot},     {"top", bytes_to_json(*top)},
                   {"below", bytes_to_json(*below)}, {"commit", taken.commit},
                   {"branch", taken.branch},         {"dirty", taken.dirty}};
  json::array links;
  for (const auto& name : taken.links) links.push_back(bytes_to_json(name));
  out["links"] = std::move(links);
  return json::value(std::move(out));
}

/// --to and -c say the same here.
Result<> take_target(const Parsed& parsed, spec::SubmitOptions& options) {
  const auto to = parsed.value("to");
  if (to && options.cluster && *options.cluster != *to)
    return fail(Kind::usage, "--to and -c name different clusters", "leave one out");
  if (to && to->empty()) return fail(Kind::usage, "--to is empty");
  if (to) options.cluster = *to;
  return {};
}

Result<int> run(Context& context, const Parsed& parsed) {
  if (parsed.operands.empty())
    return fail(Kind::usage, "resubmit needs a job", "muster resubmit ID; list jobs: muster query");
  TRY(auto options, submit_options(parsed));
  TRY_VOID(take_target(parsed, options));
  const auto id = options.command.front();
  options.command.erase(options.command.begin());
  for (auto& [name, value] : options.env)
    if (value) TRY_VOID(take_secret(context, name, *value));
  if (!options.key) options.key = to_hex(random_bytes(16));
  json::object body;
  TRY(body["options"], parse_json(spec::to_json(options)));
  // A cluster of this machine sees what this shell sees.
  if (options.cluster) {
    TRY(body["env"], parse_json(server::environment_json(context.env)));
  }
  CodeTaker taker(context);
  if (parsed.has("latest-code")) {
    TRY(body["code"], latest_code(id, context, taker, options.allow_racy));
  }
  TRY(const auto accepted,
      accepted_by(context, {.route = "jobs.resubmit", .id = id, .body = json::serialize(body)}));
  return after_submit(context, parsed, accepted, {.name = {}, .ranks = 0});
}

std::vector<Option> options() {
  auto all = submit_flags();
  all.push_back({.name = "to",
                 .letter = 0,
                 .value = "CLUSTER",
                 .text = "on another cluster (as -c)",
                 .group = "Where"});
  all.push_back({.name = "latest-code",
                 .letter = 0,
                 .value = "",
                 .text = "with the code as it stands in the folder now",
                 .group = "What"});
  for (auto& option : after_submit_flags()) all.push_back(option);
  return all;
}

}  // namespace

Verb verb_resubmit() {
  return {.name = "resubmit",
          .aliases = {},
          .group = "Jobs",
          .summary = "Submit a job again, the same or with changes",
          .usage = "resubmit [options] ID [-- COMMAND [ARGUMENT...]]",
          .operands = Operands::some,
          .options = options(),
          .run = run};
}

}  // namespace muster
