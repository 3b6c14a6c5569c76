#include "app/cli/job_text.hpp"

#include "app/cli/job_cells.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "edge/fs/files.hpp"

namespace muster {
namespace {

/// The advice of the cause table, with this job's id where it says ID.
std::string with_id(std::string advice, const json::object& job) {
  if (const auto at = advice.find(" ID"); at != std::string::npos)
    advice.replace(at + 1, 2, shown_at(job, "id"));
  return advice;
}

void line(Context& context, std::string_view label, const std::string& value) {
  constexpr std::size_t kLabel = 11;
  if (value.empty()) return;
  const auto text = wrapped(fmt::format("{:<10} {}", label, value), context.width, kLabel);
  print_line(context, paint(context, Style::dim, text.substr(0, kLabel)) + text.substr(kLabel));
}

/// " on n1, n2 and 14 more"; nothing while no node is known.
std::string nodes_of(const json::object& attempt) {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> names;
  std::size_t more = 0;
  for (const auto& node : list_at(attempt, "nodes")) {
    auto name = printable(bytes_from_json(node).value_or(""));
    if (name.empty() || name == "?") continue;
    if (names.size() < kMost)
      names.push_back(std::move(name));
    else
      ++more;
  }
  if (names.empty()) return "";
  return fmt::format(" on {}{}", join(names, ", "),
                     more == 0 ? "" : fmt::format(" and {} more", more));
}

void print_attempt(Context& context, const json::object& attempt) {
  const auto cause = shown_at(attempt, "cause");
  auto text =
      fmt::format("  attempt {} {}{}", number_at(attempt, "n"),
                  cause.empty() ? shown_at(attempt, "state") : "ended: " + end_text(attempt),
                  nodes_of(attempt));
  const auto started = time_at(attempt, "started_at"), ended = time_at(attempt, "ended_at");
  if (started && ended) text += fmt::format(", ran {}", to_text(*ended - *started));
  if (const auto cpu = real_at(attempt, "cpu_s"); cpu > 0)
    text += fmt::format(", {:.2f} s cpu", cpu);
  if (const auto peak = number_at(attempt, "peak_bytes"); peak > 0)
    text += fmt::format(", peak {}", to_text(Bytes{peak}));
  print_text(context, text);
  for (const auto& evidence : list_at(attempt, "evidence"))
    print_text(context, "    " + printable(bytes_from_json(evidence).value_or("?")));
}

/// Where what it wrote lies.
void print_places(Context& context, const json::object& job) {
  const auto& attempts = list_at(job, "attempts");
  if (attempts.empty()) return;
  const auto job_dir = fmt::format("{}/jobs/{}", context.paths.state, shown_at(job, "id"));
  const auto node_dir =
      fmt::format("{}/a{}/n0", job_dir, number_at(attempts.back().as_object(), "n"));
  line(context, "logs", fmt::format("{}/rank-00000.out (.err)", node_dir));
  // What an overlay holds is the change alone: that is what `muster diff` is for.
  const auto outputs = fmt::format("{}/outputs", job_dir);
  if (!fs::entries(outputs).empty()) line(context, "outputs", outputs);
}

std::string size_text(const json::object& job) {
  const auto nodes = number_at(job, "nodes"), procs = number_at(job, "procs_per_node"),
             gpus = number_at(job, "gpus");
  auto text = fmt::format("{} node{}, {} process{} each", nodes, nodes == 1 ? "" : "s", procs,
                          procs == 1 ? "" : "es");
  text += fmt::format(", {:g} cpu", real_at(job, "cpus_per_node"));
  if (const auto memory = number_at(job, "memory_per_node"); memory > 0)
    text += fmt::format(", {}", to_text(Bytes{memory}));
  if (nodes > 1) text += " a node";
  return gpus > 0 ? text + fmt::format(", {} gpu", gpus) : text;
}

/// "snapshot 3f2a91c04b7e of commit 1a2b3c4d (main), 2 files differ; linked: data, .venv"
std::string code_text(const json::object& job) {
  const auto id = shown_at(job, "snapshot");
  const auto* code = field(job, "code");
  if (id.empty() || code == nullptr || !code->is_object()) return {};
  const auto& in = code->get_object();
  auto text = fmt::format("snapshot {}", id.substr(0, 12));
  if (const auto commit = shown_at(in, "commit"); !commit.empty()) {
    text += fmt::format(" of commit {}", commit.substr(0, 8));
    if (const auto branch = shown_at(in, "branch"); !branch.empty())
      text += fmt::format(" ({})", branch);
    if (const auto dirty = number_at(in, "dirty"); dirty > 0)
      text += fmt::format(", {} file{}", dirty, dirty == 1 ? " differs" : "s differ");
  }
  std::vector<std::string> links;
  for (const auto& name : list_at(in, "links"))
    links.push_back(printable(bytes_from_json(name).value_or("?")));
  return links.empty() ? text : text + "; linked: " + join(links, ", ");
}

std::string state_text(const Context& context, const json::object& job) {
  const auto state = shown_at(job, "state");
  const auto end = end_after_state(job);
  const auto* between = text_at(job, "cause") == "cancelled" ? " " : ": ";
  return paint(context, style_of_state(state), state) + (end.empty() ? "" : between + end);
}

}  // namespace

Result<> print_job(Context& context, std::string_view job_json) {
  TRY(const auto parsed, parse_json(job_json));
  const auto& job = parsed.as_object();
  line(context, "job", paint(context, Style::bold, shown_at(job, "id")));
  line(context, "name", shown_at(job, "name"));
  line(context, "state", state_text(context, job));
  for (const auto& reason : list_at(job, "reasons"))
    line(context, "reason", shown_at(reason.as_object(), "text"));
  line(context, "command", command_of(job));
  line(context, "folder", shown_at(job, "dir"));
  line(context, "code", code_text(job));
  line(context, "size", size_text(job));
  for (const auto* name : {"user", "cluster"}) line(context, name, shown_at(job, name));
  line(context, "submitted", local_time_at(job, "submitted_at"));
  line(context, "started", local_time_at(job, "started_at"));
  line(context, "ended", local_time_at(job, "ended_at"));
  for (const auto& attempt : list_at(job, "attempts")) print_attempt(context, attempt.as_object());
  print_places(context, job);
  return {};
}

Result<> print_why(Context& context, std::string_view why_json) {
  TRY(const auto parsed, parse_json(why_json));
  const auto& job = parsed.as_object();
  const auto state = text_at(job, "state");
  print_line(context, fmt::format("{} is {}", paint(context, Style::bold, shown_at(job, "id")),
                                  paint(context, style_of_state(state), state)));
  for (const auto& value : list_at(job, "reasons")) {
    const auto& reason = value.as_object();
    print_text(
        context,
        fmt::format("  {} {}", state == "queued" ? "waiting:" : "now:", shown_at(reason, "text")));
    print_text(context, fmt::format("    fix: {}", with_id(shown_at(reason, "fix"), job)),
               Style::dim);
  }
  const auto& attempts = list_at(job, "attempts");
  for (const auto& value : attempts) {
    const auto& attempt = value.as_object();
    print_attempt(context, attempt);
    // Several that ended alike are explained once.
    const bool is_last = &value == &attempts.back();
    if (text_at(attempt, "cause").empty() ||
        (!is_last && text_at((&value + 1)->as_object(), "cause") == text_at(attempt, "cause")))
      continue;
    print_text(context, "    " + shown_at(attempt, "text"));
    if (const auto advice = shown_at(attempt, "advice"); !advice.empty())
      print_text(context, "    fix: " + with_id(advice, job), Style::dim);
  }
  if (state == "running")
    print_text(context, "  it runs; follow it: muster logs -f " + shown_at(job, "id"));
  return {};
}

}  // namespace muster
