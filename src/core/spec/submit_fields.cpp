#include "base/text.hpp"
#include "core/spec/config_keys.hpp"
#include "core/spec/pod_keys.hpp"
#include "core/spec/submit_options.hpp"

namespace muster::spec {
namespace {

using Text = std::string_view;
using Options = SubmitOptions;

Result<> whole(std::optional<int>& out, Text text, int low, int high) {
  TRY(const auto number, parse_whole(text, low, high));
  out = static_cast<int>(number);
  return {};
}

Result<> flag(bool& out, Text text) {
  if (text != "true" && text != "false" && !text.empty())
    return fail(Kind::usage, fmt::format("it takes no value, but got \"{}\"", printable(text)));
  out = text != "false";
  return {};
}

Result<> set_text(std::optional<std::string>& out, Text text) {
  if (text.empty()) return fail(Kind::usage, "it is empty");
  out = text;
  return {};
}

Result<> set_cpus(Options& options, Text text) {
  TRY(const auto cpus, parse_cpus(text));
  if (cpus.count <= 0) return fail(Kind::usage, "a process needs more than 0 cpus");
  options.cpus = cpus;
  return {};
}

Result<> set_memory(Options& options, Text text) {
  TRY(const auto memory, parse_bytes(text));
  if (memory.count < 1024 * 1024)
    return fail(Kind::usage, fmt::format("{} is too little for any program", to_text(memory)),
                "write it as 512M or 16G");
  options.memory = memory;
  return {};
}

Result<> set_tag(Options& options, Text text) {
  const auto equals = text.find('=');
  if (equals == 0 || equals == Text::npos || !is_utf8(text))
    return fail(Kind::usage, fmt::format("not a tag: \"{}\"", printable(text)), "--tag owner=ada");
  options.tags[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  return {};
}

Result<> set_env(Options& options, Text text) {
  const auto equals = text.find('=');
  if (equals == 0 || text.empty())
    return fail(Kind::usage, fmt::format("not a variable: \"{}\"", printable(text)),
                "-e NAME=VALUE, or -e NAME for the value it has here");
  std::optional<std::string> value;
  if (equals != Text::npos) value = std::string(text.substr(equals + 1));
  options.env.emplace_back(text.substr(0, equals), std::move(value));
  return {};
}

Result<> set_budget(RetriesAsked& retries, Text name, Text count) {
  if (name == "user") return whole(retries.user, count, 0, kMaxRetries);
  if (name == "infra") return whole(retries.infrastructure, count, 0, kMaxRetries);
  if (name == "memory") return whole(retries.memory, count, 0, kMaxRetries);
  if (name == "hang") return whole(retries.hang, count, 0, kMaxRetries);
  return fail(Kind::usage, fmt::format("no such budget: \"{}\"", printable(name)),
              "one of: user, infra, memory, hang");
}

Result<> set_retries(Options& options, Text text) {
  if (text.find('=') == Text::npos) return set_budget(options.retries, "user", text);
  for (const auto part : split(text, ',')) {
    const auto equals = std::min(part.find('='), part.size());
    const auto count = equals == part.size() ? Text() : part.substr(equals + 1);
    TRY_VOID(set_budget(options.retries, part.substr(0, equals), count));
  }
  return {};
}

Result<> set_duration(std::optional<Duration>& out, Text text) {
  TRY(out, parse_duration(text));
  return {};
}

Result<> set_signal_to(Options& options, Text text) {
  options.signal_to = named<SignalTo>(text);
  if (options.signal_to) return {};
  return fail(Kind::usage, fmt::format("\"{}\" cannot be signalled", printable(text)),
              "one of: main, group, all");
}

Result<> refuse_after(Options&, Text) {
  return fail(Kind::usage, "waiting for another job is not in this version",
              "wait for it first: muster wait ID && muster submit ...");
}

Result<> set_snapshot(Options& options, Text text) {
  const bool may_be_id = text.size() >= 4 && text.size() <= 64 &&
                         text.find_first_not_of("0123456789abcdef") == Text::npos;
  if (!may_be_id)
    return fail(Kind::usage, fmt::format("\"{}\" is no snapshot", printable(text)),
                "the first hex digits of one, 4 at least: muster snapshot list");
  options.snapshot = text;
  return {};
}

constexpr int kMaxGpus = kMaxNodes * kMaxGpusPerNode;
constexpr int kMaxProcs = 1'000'000;
constexpr Text kHow = "How much", kWhat = "What", kWhen = "When and again", kWhere = "Where",
               kName = "Names";

constexpr SubmitField kFields[] = {
    {"gpus", "gpus", 'n', "N", kHow, false,
     "GPUs, one process each; more than a node has: a multiple of it; 0: none",
     [](Options& o, Text t) { return whole(o.gpus, t, 0, kMaxGpus); }},
    {"nodes", "nodes", 0, "N", kHow, false, "spread over this many nodes",
     [](Options& o, Text t) { return whole(o.nodes, t, 1, kMaxNodes); }},
    {"procs-per-node", "procs_per_node", 0, "N", kHow, false, "processes on each node",
     [](Options& o, Text t) { return whole(o.procs_per_node, t, 1, kMaxProcs); }},
    {"procs", "procs", 0, "N", kHow, false, "processes without GPUs, in all",
     [](Options& o, Text t) { return whole(o.procs, t, 1, kMaxProcs); }},
    {"single", "single", 0, "", kHow, false, "one process a node, which sees all its GPUs",
     [](Options& o, Text t) { return flag(o.single, t); }},
    {"cpus", "cpus", 0, "N", kHow, false, "cpus for each process (1)", set_cpus},
    {"memory", "memory", 0, "SIZE", kHow, false, "memory on each node, as 16G (its share by cpus)",
     set_memory},
    {"dataloader-workers", "dataloader_workers", 0, "N", kHow, false,
     "loader processes of each process, which share its threads",
     [](Options& o, Text t) { return whole(o.dataloader_workers, t, 0, 100'000); }},
    {"shell", "shell", 0, "TEXT", kWhat, false, "run this text in a shell instead of a command",
     [](Options& o, Text t) { return set_text(o.shell, t); }},
    {"env", "env", 'e', "NAME[=VALUE]", kWhat, true, "set a variable for the job", set_env},
    {"dir", "dir", 0, "PATH", kWhat, false, "run in this folder (the current one)",
     [](Options& o, Text t) { return set_text(o.dir, t); }},
    {"here", "here", 0, "", kWhat, false, "run in place, without a snapshot",
     [](Options& o, Text t) { return flag(o.here, t); }},
    {"snapshot", "snapshot", 0, "ID", kWhat, false,
     "run this snapshot instead of what is there now", set_snapshot},
    {"allow-racy", "allow_racy", 0, "", kWhat, false,
     "take files that change while they are read as they are",
     [](Options& o, Text t) { return flag(o.allow_racy, t); }},
    {"setup", "setup", 0, "TEXT", kWhat, false,
     "run this shell text once in the code before jobs use it",
     [](Options& o, Text t) { return set_text(o.setup, t); }},
    {"requirements", "requirements", 0, "FILE", kWhat, false,
     "a Python environment with what this file of the code lists",
     [](Options& o, Text t) { return set_text(o.requirements, t); }},
    {"keep", "keep", 0, "WHAT", kWhat, false, "what stays of what it wrote: all, outputs or none",
     [](Options& o, Text t) -> Result<> {
       TRY(o.keep, parse_keep(t));
       return {};
     }},
    {"signal-to", "signal_to", 0, "WHO", kWhat, false,
     "who is told to stop: main, group (with --shell) or all", set_signal_to},
    {"queue", "queue", 0, "NAME", kWhere, false, "the queue to wait in",
     [](Options& o, Text t) { return set_text(o.queue, t); }},
    {"priority", "priority", 0, "N", kWhere, false, "higher runs first (0)",
     [](Options& o, Text t) { return whole(o.priority, t, -kMaxPriority, kMaxPriority); }},
    {"image", "image", 0, "IMAGE", kWhere, false, "the image its pods run (Kubernetes)",
     [](Options& o, Text t) { return set_image(o.image.emplace(), t); }},
    {"spot", "spot", 0, "HOW", kWhere, false,
     "nodes that may be taken away: only, prefer or never (Kubernetes)",
     [](Options& o, Text t) -> Result<> {
       TRY(o.spot, parse_spot(t));
       return {};
     }},
    {"time", "time_limit", 0, "LIMIT", kWhen, false,
     "stop it after this long, as 90m or 2d (a plain number: seconds)",
     [](Options& o, Text t) { return set_duration(o.time_limit, t); }},
    {"grace", "grace", 0, "TIME", kWhen, false, "time between TERM and KILL (30s)",
     [](Options& o, Text t) { return set_duration(o.grace, t); }},
    {"retries", "retries", 0, "N", kWhen, false,
     "try again after its own failures; or user=1,infra=3,memory=0,hang=1", set_retries},
    {"after", "after", 0, "ID", kWhen, false, "not in this version", refuse_after},
    {"name", "name", 0, "NAME", kName, false, "a name to find it by",
     [](Options& o, Text t) { return set_text(o.name, t); }},
    {"experiment", "experiment", 0, "NAME", kName, false, "the group of jobs it belongs to",
     [](Options& o, Text t) { return set_text(o.experiment, t); }},
    {"tag", "tags", 0, "KEY=VALUE", kName, true, "a tag to filter by", set_tag},
    {"key", "key", 0, "KEY", kName, false, "the same key again gives the same job, not another",
     [](Options& o, Text t) { return set_text(o.key, t); }},
    // A field without a flag: the cluster's is global.
    {"", "cluster", 0, "NAME", kWhere, false, "the cluster it goes to",
     [](Options& o, Text t) { return set_text(o.cluster, t); }},
};

}  // namespace

std::span<const SubmitField> submit_fields() { return kFields; }

Result<> set_by_flag(SubmitOptions& options, std::string_view flag, std::string_view text) {
  for (const auto& row : kFields) {
    if (row.flag.empty() || row.flag != flag) continue;
    auto result = row.set(options, text);
    if (!result) result.error().what = fmt::format("--{}: {}", flag, result.error().what);
    return result;
  }
  return fail(Kind::internal, fmt::format("--{} is not a flag of submit", flag));
}

}  // namespace muster::spec
