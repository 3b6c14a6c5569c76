#include "app/cli/home_usage.hpp"
#include "app/cli/output.hpp"
#include "app/cli/own_snapshots.hpp"
#include "app/cli/verb.hpp"
#include "base/text.hpp"
#include "core/model/json.hpp"
#include "edge/fs/disk.hpp"

namespace muster {
namespace {

constexpr std::size_t kShown = 20;

json::object record_of(const std::string& home) {
  return {{"schema", 1}, {"home", bytes_to_json(home)}};
}

Result<> print_parts(Context& context) {
  const auto parts = home_parts(context.paths);
  fs::Usage all;
  for (const auto& part : parts) all.add(part.usage);
  const auto room = fs::disk_room(context.paths.state);
  if (wants_record(context)) {
    json::array list;
    for (const auto& part : parts)
      list.push_back(json::object{
          {"name", part.name}, {"bytes", part.usage.bytes}, {"files", part.usage.files}});
    auto out = record_of(context.paths.state);
    out["bytes"] = all.bytes;
    out["files"] = all.files;
    out["disk_free"] = room.free;
    out["parts"] = std::move(list);
    return print_record(context, json::serialize(out));
  }
  Table table{.columns = {{.title = "PART"},
                          {.title = "SIZE", .is_number = true},
                          {.title = "FILES", .is_number = true},
                          {.title = "WHAT", .is_flexible = true}},
              .rows = {}};
  for (const auto& part : parts)
    table.rows.push_back(
        {part.name, size_text(part.usage.bytes), std::to_string(part.usage.files), part.what});
  table.rows.push_back({"all", size_text(all.bytes), std::to_string(all.files),
                        fmt::format("{}; {} free on its disk", printable(context.paths.state),
                                    size_text(room.free))});
  print_table(context, table);
  return {};
}

Result<> print_jobs(Context& context, bool is_all) {
  auto jobs = job_usages(context.paths.state);
  const auto left = is_all || jobs.size() <= kShown ? 0 : jobs.size() - kShown;
  jobs.resize(jobs.size() - left);
  if (wants_record(context)) {
    json::array list;
    for (const auto& job : jobs)
      list.push_back(json::object{
          {"id", bytes_to_json(job.id)}, {"bytes", job.usage.bytes}, {"files", job.usage.files}});
    auto out = record_of(context.paths.state);
    out["jobs"] = std::move(list);
    return print_record(context, json::serialize(out));
  }
  Table table{.columns = {{.title = "JOB"},
                          {.title = "SIZE", .is_number = true},
                          {.title = "FILES", .is_number = true}},
              .rows = {}};
  for (const auto& job : jobs)
    table.rows.push_back(
        {printable(job.id), size_text(job.usage.bytes), std::to_string(job.usage.files)});
  if (table.rows.empty())
    say(context, "no job has a folder here");
  else
    print_table(context, table);
  if (left > 0) say(context, fmt::format("{} smaller ones: muster du --jobs --all", left));
  return {};
}

Result<int> run(Context& context, const Parsed& parsed) {
  if (parsed.has("jobs"))
    TRY_VOID(print_jobs(context, parsed.has("all")));
  else if (parsed.has("all"))
    return fail(Kind::usage, "--all is of --jobs", "muster du --jobs --all");
  else
    TRY_VOID(print_parts(context));
  return 0;
}

}  // namespace

Verb verb_du() {
  return {.name = "du",
          .aliases = {},
          .group = "About muster",
          .summary = "Show what this home takes of the disk",
          .usage = "du [--jobs [--all]] [-o json]",
          .operands = Operands::none,
          .options = {{.name = "jobs", .text = "the folders of jobs, the largest first"},
                      {.name = "all", .text = "with --jobs: all of them"}},
          .run = run};
}

}  // namespace muster
