#include <algorithm>
#include <array>
#include <charconv>

#include "app/cli/job_cells.hpp"
#include "app/cli/job_text.hpp"
#include "edge/fs/files.hpp"

namespace muster {
namespace {

constexpr std::size_t kState = 2;

/// The cells of a line, as the server names them.
enum Cell : std::size_t {
  id,
  name,
  state,
  submitted,
  started,
  ended,
  procs,
  user,
  cluster,
  attempts,
  command,
  reason,
  count
};
using Cells = std::array<std::string_view, Cell::count>;

/// On a terminal the end of an id is enough: it finds the job everywhere.
std::string_view id_cell(const Context& context, std::string_view id) {
  const bool is_short = context.out_is_tty && context.globals.format != Format::wide;
  return is_short ? id.substr(id.rfind('_') + 1) : id;
}

std::optional<WallTime> time_of(std::string_view cell) {
  std::int64_t us = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), us);
  return error == std::errc() ? std::optional(WallTime{us}) : std::nullopt;
}

/// How long it has run, or how long it has waited.
std::string time_cell(const Cells& job, WallTime now) {
  if (const auto start = time_of(job[started]))
    return to_text(time_of(job[ended]).value_or(now) - *start);
  const auto since = time_of(job[submitted]);
  return since && job[state] == "queued" ? "waits " + to_text(now - *since) : "-";
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

std::vector<std::string> row_of_job(const Context& context, const Cells& job, WallTime now) {
  std::vector<std::string> row;
  row.reserve(11);
  row.emplace_back(id_cell(context, job[id]));
  row.emplace_back(job[name]);
  row.emplace_back(job[state]);
  row.push_back(time_cell(job, now));
  row.emplace_back(job[procs]);
  row.emplace_back(job[reason]);
  if (context.globals.format == Format::wide) {
    row.emplace_back(job[user]);
    row.emplace_back(job[cluster]);
    row.emplace_back(job[attempts]);
    row.push_back(to_rfc3339(time_of(job[submitted]).value_or(WallTime{})));
  }
  row.emplace_back(job[command]);
  return row;
}

/// Nothing when the line has fewer cells; more of them come from a newer server.
std::optional<Cells> cells_of(std::string_view line) {
  Cells cells;
  std::size_t at = 0;
  for (auto& cell : cells) {
    if (at > line.size()) return std::nullopt;
    const auto end = std::min(line.find('\t', at), line.size());
    cell = line.substr(at, end - at);
    at = end + 1;
  }
  return cells;
}

}  // namespace

Result<> print_jobs(Context& context, std::string_view lines, bool is_filtered) {
  const bool is_wide = context.globals.format == Format::wide;
  const WallTime now{fs::walltime_us()};
  Table table{.columns = columns(is_wide), .rows = {}};
  const auto titles = lines.find('\n');
  auto left = titles == lines.npos ? std::string_view() : lines.substr(titles + 1);
  while (!left.empty()) {
    const auto end = std::min(left.find('\n'), left.size() - 1);
    const auto job = cells_of(left.substr(0, end));
    if (!job) return fail(Kind::corrupt, "the server's list of jobs has lines that are too short");
    table.rows.push_back(row_of_job(context, *job, now));
    left.remove_prefix(end + 1);
  }
  if (table.rows.empty()) {
    say(context, is_filtered ? "no such jobs; all of them: muster query --all"
                             : "no jobs yet; start one: muster run COMMAND");
    return {};
  }
  std::reverse(table.rows.begin(), table.rows.end());  // newest last, next to the prompt
  if (is_wide) context.width = 0;
  TableStyle style;
  style.paint = [&](std::size_t column, const std::string& cell) {
    return column == kState ? paint(context, style_of_state(cell), cell) : cell;
  };
  print_table(context, table, style);
  return {};
}

}  // namespace muster
