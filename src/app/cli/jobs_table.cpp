#include "app/cli/job_cells.hpp"
#include "app/cli/job_text.hpp"
#include "edge/fs/files.hpp"

namespace muster {
namespace {

constexpr std::size_t kState = 2;

/// On a terminal the end of an id is enough: it finds the job everywhere.
std::string id_cell(const Context& context, const json::object& job) {
  const auto id = shown_at(job, "id");
  const bool is_short = context.out_is_tty && context.globals.format != Format::wide;
  return is_short ? id.substr(id.rfind('_') + 1) : id;
}

/// How long it has run, or how long it has waited.
std::string time_cell(const json::object& job) {
  const auto submitted = time_at(job, "submitted_at"), started = time_at(job, "started_at"),
             ended = time_at(job, "ended_at");
  const WallTime now{fs::walltime_us()};
  if (started) return to_text(ended.value_or(now) - *started);
  if (submitted && text_at(job, "state") == "queued") return "waits " + to_text(now - *submitted);
  return "-";
}

std::string reason_cell(const json::object& job) {
  if (!text_at(job, "cause").empty()) return end_after_state(job);
  const auto& reasons = list_at(job, "reasons");
  return reasons.empty() ? "" : shown_at(reasons.front().as_object(), "text");
}

std::string size_cell(const json::object& job) {
  const auto nodes = number_at(job, "nodes"), procs = number_at(job, "procs_per_node"),
             gpus = number_at(job, "gpus");
  const auto text = nodes > 1 ? fmt::format("{}x{}", nodes, procs) : fmt::format("{}", procs);
  return gpus > 0 ? fmt::format("{}, {} gpu", text, gpus) : text;
}

std::vector<Column> columns(bool is_wide) {
  std::vector<Column> all{{.title = "ID"},
                          {.title = "NAME", .is_flexible = true, .may_fold = true},
                          {.title = "STATE"},
                          {.title = "TIME", .is_number = true},
                          {.title = "PROCS", .may_fold = true, .usual = "1"},
                          {.title = "REASON", .is_flexible = true, .may_fold = true}};
  if (is_wide)
    all.insert(all.end(), {{.title = "USER", .may_fold = true},
                           {.title = "CLUSTER", .may_fold = true},
                           {.title = "ATTEMPTS", .is_number = true},
                           {.title = "SUBMITTED"}});
  all.push_back({.title = "COMMAND", .is_flexible = true});
  return all;
}

std::vector<std::string> row_of_job(const Context& context, const json::object& job) {
  std::vector<std::string> row{id_cell(context, job), shown_at(job, "name"), shown_at(job, "state"),
                               time_cell(job),        size_cell(job),        reason_cell(job)};
  if (context.globals.format == Format::wide)
    row.insert(row.end(),
               {shown_at(job, "user"), shown_at(job, "cluster"),
                std::to_string(number_at(job, "attempt")), shown_at(job, "submitted_at")});
  row.push_back(command_of(job));
  return row;
}

}  // namespace

Result<> print_jobs(Context& context, std::string_view jobs_json, bool is_filtered) {
  // Thousands of small objects that all go at once: one piece of memory, freed as a whole.
  json::monotonic_resource memory(4 * jobs_json.size() + 1024);
  json::error_code bad;
  const auto parsed = json::parse({jobs_json.data(), jobs_json.size()}, bad, &memory);
  if (bad || !parsed.is_object()) return fail(Kind::corrupt, "the server's list is no JSON");
  const auto& jobs = list_at(parsed.get_object(), "jobs");
  if (jobs.empty()) {
    say(context, is_filtered ? "no such jobs; all of them: muster query --all"
                             : "no jobs yet; start one: muster run COMMAND");
    return {};
  }
  const bool is_wide = context.globals.format == Format::wide;
  Table table{.columns = columns(is_wide), .rows = {}};
  for (auto job = jobs.rbegin(); job != jobs.rend(); ++job)  // newest last, next to the prompt
    table.rows.push_back(row_of_job(context, job->as_object()));
  if (is_wide) context.width = 0;
  TableStyle style;
  style.paint = [&](std::size_t column, const std::string& cell) {
    return column == kState ? paint(context, style_of_state(cell), cell) : cell;
  };
  print_table(context, table, style);
  return {};
}

}  // namespace muster
