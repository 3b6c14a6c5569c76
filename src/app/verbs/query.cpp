#include "app/cli/client.hpp"
#include "app/cli/job_text.hpp"
#include "app/cli/output.hpp"
#include "app/cli/verb.hpp"
#include "base/text.hpp"
#include "core/model/json.hpp"

namespace muster {
namespace {

constexpr std::size_t kShown = 30;

std::vector<std::pair<std::string, std::string>> filters(const Context& context,
                                                         const Parsed& parsed) {
  std::vector<std::pair<std::string, std::string>> query;
  if (!wants_record(context)) query.emplace_back("view", "table");
  if (const auto state = parsed.value("state")) query.emplace_back("state", *state);
  if (const auto user = parsed.value("user")) query.emplace_back("user", *user);
  const auto last = parsed.value("last");
  if (last)
    query.emplace_back("limit", *last);
  else if (!parsed.has("all"))
    query.emplace_back("limit", std::to_string(kShown));
  return query;
}

Result<> print_names(Context& context, std::string_view document) {
  const auto lines = split(document, '\n');
  for (std::size_t i = 1; i < lines.size(); ++i)  // after the titles
    if (!lines[i].empty()) print_line(context, lines[i].substr(0, lines[i].find('\t')));
  return {};
}

Result<int> list(Context& context, const Parsed& parsed) {
  TRY(const auto document,
      call_again(context, {.route = "jobs.list", .query = filters(context, parsed)}));
  if (wants_record(context))
    TRY_VOID(print_record(context, document));
  else if (context.globals.format == Format::name)
    TRY_VOID(print_names(context, document));
  else
    TRY_VOID(print_jobs(context, document, parsed.has("state") || parsed.has("user")));
  return 0;
}

/// The end of rank 0's log, as ACT's query shows it.
Result<> print_tail(Context& context, const std::string& id) {
  TRY(const auto tail,
      call_again(context, {.route = "jobs.logs", .id = id, .query = {{"tail", "100"}}}));
  if (tail.empty()) return {};
  print_line(context, paint(context, Style::dim, "--- last lines of rank 0"));
  for (const auto line :
       split(std::string_view(tail).substr(0, tail.ends_with('\n') ? tail.size() - 1 : tail.size()),
             '\n'))
    print_line(context, printable(line));
  return {};
}

Result<int> show(Context& context, const std::vector<std::string>& ids) {
  std::string records;
  for (const auto& id : ids) {
    TRY(const auto document, call_again(context, {.route = "jobs.get", .id = id}));
    if (wants_record(context)) {
      records += (records.empty() ? "" : ",") + document;
      continue;
    }
    TRY_VOID(print_job(context, document));
    TRY_VOID(print_tail(context, id));
  }
  if (wants_record(context))
    TRY_VOID(print_record(context, ids.size() == 1
                                       ? records
                                       : fmt::format(R"({{"schema":1,"jobs":[{}]}})", records)));
  return 0;
}

Result<int> run(Context& context, const Parsed& parsed) {
  return parsed.operands.empty() ? list(context, parsed) : show(context, parsed.operands);
}

}  // namespace

Verb verb_query() {
  return {.name = "query",
          .aliases = {"q", "ps"},
          .group = "Jobs",
          .summary = "List jobs, or show some of them in full",
          .usage = "query [options] [ID...]",
          .operands = Operands::some,
          .options = {{.name = "all", .letter = 'a', .text = "every job, not only the newest 30"},
                      {.name = "last", .value = "N", .text = "the newest N"},
                      {.name = "state",
                       .value = "STATE",
                       .text = "only these states, separated by commas"},
                      {.name = "user", .value = "NAME", .text = "only this person's"}},
          .run = run};
}

}  // namespace muster
