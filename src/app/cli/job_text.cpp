#include "app/cli/job_text.hpp"

#include "app/cli/output.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "base/units.hpp"
#include "core/model/cause.hpp"
#include "core/model/json.hpp"
#include "core/model/states.hpp"
#include "edge/fs/files.hpp"

namespace muster {
namespace {

std::string text_at(const json::object& object, std::string_view name) {
  const auto* value = field(object, name);
  if (value == nullptr) return {};
  return printable(bytes_from_json(*value).value_or(std::string()));
}

std::int64_t number_at(const json::object& object, std::string_view name) {
  const auto* value = field(object, name);
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

double real_at(const json::object& object, std::string_view name) {
  const auto* value = field(object, name);
  if (value == nullptr) return 0;
  return value->is_double()  ? value->get_double()
         : value->is_int64() ? static_cast<double>(value->get_int64())
                             : 0;
}

const json::array& list_at(const json::object& object, std::string_view name) {
  static const json::array kEmpty;
  const auto* value = field(object, name);
  return value != nullptr && value->is_array() ? value->get_array() : kEmpty;
}

std::optional<WallTime> time_at(const json::object& object, std::string_view name) {
  const auto at = parse_rfc3339(text_at(object, name));
  return at ? std::optional(*at) : std::nullopt;
}

/// The advice of the cause table, with this job's id where it says ID.
std::string with_id(std::string advice, const json::object& job) {
  if (const auto at = advice.find(" ID"); at != std::string::npos)
    advice.replace(at + 1, 2, text_at(job, "id"));
  return advice;
}

/// On a terminal the end of an id is enough: it finds the job everywhere.
std::string id_cell(const Context& context, const json::object& job) {
  const auto id = text_at(job, "id");
  const bool is_short = context.out_is_tty && context.globals.format != Format::wide;
  return is_short ? id.substr(id.rfind('_') + 1) : id;
}

std::string command_of(const json::object& job) {
  std::vector<std::string> argv;
  for (const auto& word : list_at(job, "command"))
    argv.push_back(bytes_from_json(word).value_or("?"));
  const auto* shell = field(job, "shell");
  if (shell != nullptr && shell->is_bool() && shell->get_bool() && argv.size() == 3)
    return printable(argv[2]);
  return printable(shell_quoted(argv));
}

/// How long it has run, or how long it has waited.
std::string time_of(const json::object& job) {
  const auto submitted = time_at(job, "submitted_at"), started = time_at(job, "started_at"),
             ended = time_at(job, "ended_at");
  const WallTime now{fs::walltime_us()};
  if (started) return to_text(ended.value_or(now) - *started);
  if (submitted && !ended) return "waits " + to_text(now - *submitted);
  return "-";
}

std::string end_text(const json::object& end) {
  std::string text = text_at(end, "cause");
  if (const auto signal = number_at(end, "signal"); signal != 0)
    text += fmt::format(" (signal {})", signal);
  else if (const auto code = number_at(end, "exit_code"); code != 0)
    text += fmt::format(" (exit {})", code);
  return text;
}

std::string reason_of(const json::object& job) {
  if (!text_at(job, "cause").empty())
    return text_at(job, "cause") == "success" ? "" : end_text(job);
  const auto& reasons = list_at(job, "reasons");
  return reasons.empty() ? "" : text_at(reasons.front().as_object(), "text");
}

Style style_of(std::string_view state) {
  if (state == "succeeded") return Style::green;
  if (state == "failed") return Style::red;
  if (state == "queued" || state == "cancelled") return Style::dim;
  return Style::yellow;
}

std::string size_of(const json::object& job) {
  const auto nodes = number_at(job, "nodes"), procs = number_at(job, "procs_per_node"),
             gpus = number_at(job, "gpus");
  std::string text = nodes > 1 ? fmt::format("{}x{}", nodes, procs) : fmt::format("{}", procs);
  return gpus > 0 ? fmt::format("{}, {} gpu", text, gpus) : text;
}

void line(Context& context, std::string_view label, const std::string& value) {
  if (!value.empty())
    print_line(
        context,
        fmt::format("{} {}", paint(context, Style::dim, fmt::format("{:<10}", label)), value));
}

std::string nodes_of(const json::object& attempt) {
  std::vector<std::string> names;
  for (const auto& node : list_at(attempt, "nodes"))
    names.push_back(printable(bytes_from_json(node).value_or("?")));
  return join(names, ", ");
}

void print_attempt(Context& context, const json::object& attempt) {
  const auto cause = text_at(attempt, "cause");
  std::string text = fmt::format(
      "attempt {} {} on {}", number_at(attempt, "n"),
      cause.empty() ? text_at(attempt, "state") : "ended: " + end_text(attempt), nodes_of(attempt));
  const auto started = time_at(attempt, "started_at"), ended = time_at(attempt, "ended_at");
  if (started && ended) text += fmt::format(", ran {}", to_text(*ended - *started));
  if (const auto cpu = real_at(attempt, "cpu_s"); cpu > 0)
    text += fmt::format(", {:.2f} s cpu", cpu);
  if (const auto peak = number_at(attempt, "peak_bytes"); peak > 0)
    text += fmt::format(", peak {}", to_text(Bytes{peak}));
  print_line(context, "  " + text);
  for (const auto& evidence : list_at(attempt, "evidence"))
    print_line(context, "    " + printable(bytes_from_json(evidence).value_or("?")));
}

void print_logs_place(Context& context, const json::object& job) {
  const auto attempts = list_at(job, "attempts");
  if (attempts.empty()) return;
  line(context, "logs",
       fmt::format("{}/jobs/{}/a{}/n0/rank-00000.out (.err)", context.paths.state,
                   text_at(job, "id"), number_at(attempts.back().as_object(), "n")));
}

}  // namespace

Result<> print_jobs(Context& context, std::string_view jobs_json) {
  TRY(const auto parsed, parse_json(jobs_json));
  const bool is_wide = context.globals.format == Format::wide;
  Table table;
  table.columns = {{.title = "ID"},
                   {.title = "NAME", .may_fold = true},
                   {.title = "STATE"},
                   {.title = "TIME", .is_number = true},
                   {.title = "PROCS", .may_fold = true},
                   {.title = "REASON", .is_flexible = true, .may_fold = true},
                   {.title = "COMMAND", .is_flexible = true}};
  if (is_wide)
    table.columns.insert(table.columns.end(), {{.title = "USER", .may_fold = true},
                                               {.title = "CLUSTER", .may_fold = true},
                                               {.title = "ATTEMPTS", .is_number = true},
                                               {.title = "SUBMITTED"}});
  for (const auto& value : list_at(parsed.as_object(), "jobs")) {
    const auto& job = value.as_object();
    std::vector<std::string> row{id_cell(context, job), text_at(job, "name"), text_at(job, "state"),
                                 time_of(job),          size_of(job),         reason_of(job),
                                 command_of(job)};
    if (is_wide)
      row.insert(row.end(),
                 {text_at(job, "user"), text_at(job, "cluster"),
                  std::to_string(number_at(job, "attempt")), text_at(job, "submitted_at")});
    table.rows.insert(table.rows.begin(), std::move(row));  // newest last, next to the prompt
  }
  if (table.rows.empty()) {
    say(context, "no jobs yet; start one: muster run COMMAND");
    return {};
  }
  if (is_wide) context.width = 0;
  print_table(context, table);
  return {};
}

Result<> print_job(Context& context, std::string_view job_json) {
  TRY(const auto parsed, parse_json(job_json));
  const auto& job = parsed.as_object();
  line(context, "job", paint(context, Style::bold, text_at(job, "id")));
  line(context, "name", text_at(job, "name"));
  line(context, "state",
       paint(context, style_of(text_at(job, "state")), text_at(job, "state")) +
           (text_at(job, "cause").empty() ? "" : ": " + end_text(job)));
  for (const auto& reason : list_at(job, "reasons"))
    line(context, "reason", text_at(reason.as_object(), "text"));
  line(context, "command", command_of(job));
  line(context, "folder", text_at(job, "dir"));
  line(context, "size",
       fmt::format("{} node{}, {} process{} each, {} gpu", number_at(job, "nodes"),
                   number_at(job, "nodes") == 1 ? "" : "s", number_at(job, "procs_per_node"),
                   number_at(job, "procs_per_node") == 1 ? "" : "es", number_at(job, "gpus")));
  line(context, "user", text_at(job, "user"));
  line(context, "cluster", text_at(job, "cluster"));
  line(context, "submitted", text_at(job, "submitted_at"));
  line(context, "started", text_at(job, "started_at"));
  line(context, "ended", text_at(job, "ended_at"));
  for (const auto& attempt : list_at(job, "attempts")) print_attempt(context, attempt.as_object());
  print_logs_place(context, job);
  return {};
}

Result<> print_why(Context& context, std::string_view why_json) {
  TRY(const auto parsed, parse_json(why_json));
  const auto& job = parsed.as_object();
  const auto state = text_at(job, "state");
  print_line(context, fmt::format("{} is {}", paint(context, Style::bold, text_at(job, "id")),
                                  paint(context, style_of(state), state)));
  for (const auto& value : list_at(job, "reasons")) {
    const auto& reason = value.as_object();
    print_line(
        context,
        fmt::format("  {} {}", state == "queued" ? "waiting:" : "now:", text_at(reason, "text")));
    print_line(context,
               paint(context, Style::dim, fmt::format("    fix: {}", text_at(reason, "fix"))));
  }
  for (const auto& value : list_at(job, "attempts")) {
    const auto& attempt = value.as_object();
    print_attempt(context, attempt);
    if (text_at(attempt, "cause").empty()) continue;
    print_line(context, "    " + text_at(attempt, "text"));
    if (const auto advice = text_at(attempt, "advice"); !advice.empty())
      print_line(context, paint(context, Style::dim, "    fix: " + with_id(advice, job)));
  }
  if (state == "running")
    print_line(context, "  it runs; follow it: muster logs -f " + text_at(job, "id"));
  return {};
}

}  // namespace muster
