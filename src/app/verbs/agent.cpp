#include <unistd.h>

#include <csignal>

#include "app/agent/ask.hpp"
#include "app/agent/code.hpp"
#include "app/agent/exec.hpp"
#include "app/agent/install.hpp"
#include "app/agent/plan_file.hpp"
#include "app/agent/rank.hpp"
#include "app/cli/output.hpp"
#include "app/cli/verb.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "core/model/json.hpp"
#include "core/render/kube_job.hpp"

namespace muster {
namespace {

using Words = std::span<const std::string>;

agent::Places places_of(const Parsed& parsed) {
  agent::Places places;
  if (const auto root = parsed.value("root")) places.root = *root;
  return places;
}

Result<> read_time(const Context& context, const char* name, Duration& out) {
  const auto found = context.env.find(name);
  if (found == context.env.end()) return {};
  TRY(out, within(parse_duration(found->second), name));
  return {};
}

Result<int> index_of(const Context& context, const Parsed& parsed) {
  const auto found = context.env.find("JOB_COMPLETION_INDEX");
  auto text = parsed.value("index");
  if (!text && found != context.env.end()) text = found->second;
  if (!text) return 0;
  TRY(const auto index, within(parse_whole(*text, 0, 1'000'000), "the index of the node"));
  return static_cast<int>(index);
}

Result<int> port_of(const Context& context, const char* name, int usual) {
  const auto found = context.env.find(name);
  if (found == context.env.end()) return usual;
  TRY(const auto number, within(parse_whole(found->second, 1, 65'535), name));
  return static_cast<int>(number);
}

Result<int> code_port(const Context& context) {
  return port_of(context, "MUSTER_CODE_PORT", agent::kCodePort);
}

Result<int> rank(Context& context, const Parsed& parsed, Words) {
  const auto plan = parsed.value("plan");
  if (!plan) return fail(Kind::usage, "rank needs a plan", "muster agent rank --plan FILE");
  agent::RankOptions options{.plan_file = *plan,
                             .termination_log = "/dev/termination-log",
                             .places = places_of(parsed),
                             .image = context.env};
  if (const auto log = parsed.value("termination-log")) options.termination_log = *log;
  TRY(options.index, index_of(context, parsed));
  TRY_VOID(read_time(context, "MUSTER_BARRIER_TIMEOUT", options.barrier));
  TRY_VOID(read_time(context, "MUSTER_CODE_TIMEOUT", options.code));
  TRY(options.barrier_port, port_of(context, "MUSTER_BARRIER_PORT", agent::kBarrierPort));
  TRY(options.code_port, code_port(context));
  const auto code = agent::run_rank(options);
  if (code) return *code;
  print_error(context, code.error());
  return agent::kNeverStarted;
}

Result<int> install(Context&, const Parsed&, Words words) {
  TRY_VOID(agent::install(words[0]));
  return 0;
}

Result<int> receive(Context& context, const Parsed& parsed, Words words) {
  Duration patience = std::chrono::minutes(10);
  TRY_VOID(read_time(context, "MUSTER_CODE_TIMEOUT", patience));
  TRY(const auto file, agent::read_plan_file(parsed.value("plan").value_or(render::kPlanFile)));
  TRY(const auto id, agent::snapshot_of(file.plan.folder));
  TRY(const auto index, index_of(context, parsed));
  agent::Receiving order{.dir = words[0], .id = id, .patience = patience, .peer = {}};
  const auto first = file.plan.env.find("MASTER_ADDR");
  if (index > 0 && first != file.plan.env.end()) {
    TRY(const auto port, code_port(context));
    order.peer = agent::CodeSource{
        .host = first->second, .port = port, .token = file.plan.folder.token, .snapshot = id};
  }
  TRY_VOID(agent::receive_code(STDIN_FILENO, order));
  print_line(context, tree::to_hex(id));
  return 0;
}

Result<int> signal(Context&, const Parsed& parsed, Words words) {
  TRY(const auto number, within(parse_whole(words[0], 1, NSIG - 1), "the signal"));
  TRY_VOID(agent::send_signal(places_of(parsed), static_cast<int>(number)));
  return 0;
}

Result<int> status(Context& context, const Parsed& parsed, Words) {
  TRY(const auto state, agent::ask_state(places_of(parsed)));
  print_line(context, json::serialize(json::object{{"schema", 1}, {"state", state}}));
  return 0;
}

/// For the pod's startup probe: 0 when the ranks have begun.
Result<int> begun(Context&, const Parsed& parsed, Words) {
  const auto state = agent::ask_state(places_of(parsed));
  return state && *state != "preparing" && *state != "barrier" ? 0 : 1;
}

Result<int> exec(Context& context, const Parsed& parsed, Words words) {
  TRY(const auto rank,
      within(parse_whole(parsed.value("rank").value_or("0"), 0, 1'000'000), "the rank"));
  return agent::exec_beside({.plan_file = parsed.value("plan").value_or(render::kPlanFile),
                             .rank = static_cast<int>(rank),
                             .argv = {words.begin(), words.end()},
                             .own = context.env});
}

enum class Rest : std::uint8_t { none, some };

struct Sub {
  std::string_view name;
  std::string_view usage;
  std::size_t words;  // after its name, at least
  Rest rest;          // whether more may follow
  Result<int> (*run)(Context&, const Parsed&, Words);
};
constexpr Sub kSubs[] = {{"install", "install DIR", 1, Rest::none, install},
                         {"rank", "rank --plan FILE [--index N]", 0, Rest::none, rank},
                         {"receive", "receive DIR --plan FILE", 1, Rest::none, receive},
                         {"exec", "exec [--rank N] -- COMMAND", 1, Rest::some, exec},
                         {"signal", "signal NUMBER", 1, Rest::none, signal},
                         {"status", "status", 0, Rest::none, status},
                         {render::kBegunWord, "begun", 0, Rest::none, begun}};

Result<int> run(Context& context, const Parsed& parsed) {
  const auto& words = parsed.operands;
  std::vector<std::string> all;
  for (const auto& sub : kSubs) {
    all.push_back(fmt::format("muster agent {}", sub.usage));
    if (words.empty() || words.front() != sub.name) continue;
    const auto given = words.size() - 1;
    if (given < sub.words || (sub.rest == Rest::none && given > sub.words))
      return fail(Kind::usage, fmt::format("agent {} takes {} words", sub.name, sub.words),
                  all.back());
    return sub.run(context, parsed, Words(words).subspan(1));
  }
  return fail(Kind::usage, "agent needs to know what to do", join(all, ", or "));
}

}  // namespace

Verb verb_agent() {
  return {.name = "agent",
          .aliases = {},
          .group = "About muster",
          .summary = "Run the ranks of one node inside a pod",
          .usage =
              "agent install DIR | rank --plan FILE | receive DIR | exec -- COMMAND | signal N "
              "| status | begun",
          .operands = Operands::some,
          .options = {{.name = "plan", .value = "FILE", .text = "the plan of the attempt"},
                      {.name = "index",
                       .value = "N",
                       .text = "which of its nodes this is ($JOB_COMPLETION_INDEX)"},
                      {.name = "rank", .value = "N", .text = "of exec: beside which rank (0)"},
                      {.name = "termination-log",
                       .value = "FILE",
                       .text = "where the record goes (/dev/termination-log)"},
                      {.name = "root",
                       .value = "DIR",
                       .text = "where muster's folders are in the pod (/muster)"}},
          .is_for_people = false,
          .run = run};
}

}  // namespace muster
