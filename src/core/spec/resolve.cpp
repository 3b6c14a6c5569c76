#include "core/spec/resolve.hpp"

#include "base/text.hpp"

namespace muster::spec {
namespace {

constexpr std::size_t kLongestName = 128;
constexpr std::string_view kQueue = "default";

Result<> check_length(std::string_view what, std::string_view name) {
  if (name.size() <= kLongestName) return {};
  return fail(Kind::usage, fmt::format("{} is longer than {} bytes", what, kLongestName));
}

Result<> check_key(std::string_view key) {
  TRY_VOID(check_length("key", key));
  if (printable(key) == key && key.find(' ') == std::string_view::npos) return {};
  return fail(Kind::usage, fmt::format("not a key: \"{}\"", printable(key)),
              "use letters, digits, - _ . without spaces");
}

Result<> check_name(std::string_view what, std::string_view name) {
  TRY_VOID(check_length(what, name));
  // It is typed as a word of a command line: nothing that a shell reads otherwise, no flag.
  constexpr std::string_view kSpecial = " \"'\\$`()<>|&;*?[]{}!~#";
  if (name.empty() || printable(name) != name || name.front() == '-' ||
      name.find_first_of(kSpecial) != std::string_view::npos)
    return fail(Kind::usage, fmt::format("not a {}: \"{}\"", what, printable(name)),
                "use letters, digits, - _ . and do not begin with -");
  return {};
}

/// There is one queue today. A profile may name another: then it is the cluster's own affair.
Result<> check_queue(const std::string& queue, const Profile& profile) {
  TRY_VOID(check_name("queue", queue));
  if (queue == kQueue || queue == profile.queue) return {};
  return fail(Kind::usage, fmt::format("there is no queue \"{}\"", queue),
              profile.queue == kQueue
                  ? fmt::format("leave it out: there is one queue, \"{}\"", kQueue)
                  : fmt::format("there are \"{}\" and \"{}\", which profile {} names", kQueue,
                                profile.queue, printable(profile.name)));
}

/// "python3 -u src/train.py --lr 1" -> "train": the first word that names a script, else the
/// program.
std::string name_of_command(const std::vector<std::string>& command, bool is_shell) {
  if (is_shell) return "shell";
  std::string_view best = command.front();
  for (const std::string_view word :
       std::span(command).subspan(0, std::min<std::size_t>(command.size(), 8)))
    if (word.ends_with(".py") || word.ends_with(".sh")) {
      best = word.substr(0, word.size() - 3);
      break;
    }
  best = best.substr(best.rfind('/') + 1);
  std::string name;
  for (const char c : best.substr(0, 40)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';
    name += plain ? c : '-';
  }
  name.erase(0, name.find_first_not_of('-'));  // "[" and "ünder" have names, too
  return name.empty() ? "job" : name;
}

Result<std::vector<std::string>> command_of(const SubmitOptions& options) {
  if (options.shell && !options.command.empty())
    return fail(Kind::usage, "both --shell and a command were given",
                "put all of it into the text of --shell, or leave --shell out");
  if (options.shell) return std::vector<std::string>{"/bin/sh", "-c", *options.shell};
  if (options.command.empty())
    return fail(Kind::usage, "there is no command to run", "name one, as: python train.py");
  if (options.command.front().empty())
    return fail(Kind::usage, "the command's first word is empty",
                "name a program, as: python train.py");
  for (const auto& word : options.command)
    if (word.find('\0') != std::string::npos)
      return fail(Kind::usage, "an argument holds a NUL byte, which none can carry");
  return options.command;
}

Result<std::string> dir_of(const SubmitOptions& options, const Submitter& submitter) {
  const std::string dir = options.dir.value_or(submitter.dir);
  if (dir.starts_with('/')) return dir;
  if (!submitter.dir.starts_with('/'))
    return fail(Kind::usage, "the folder to run in is not known", "give an absolute --dir");
  return dir == "." ? submitter.dir : submitter.dir + "/" + dir;
}

/// The profile's variables, then -e on top.
Result<Environment> explicit_env(const SubmitOptions& options, const Profile& profile,
                                 const Submitter& submitter) {
  Environment env = profile.env;
  for (const auto& [name, value] : options.env) {
    if (name.empty() || name.find('=') != std::string::npos || name.find('\0') != std::string::npos)
      return fail(Kind::usage, fmt::format("\"{}\" cannot name a variable", printable(name)));
    const auto here = submitter.env.find(name);
    if (!value && here == submitter.env.end())
      return fail(Kind::usage, fmt::format("-e {}: it is not set here", printable(name)),
                  fmt::format("give its value: -e {}=VALUE", printable(name)));
    env[name] = value ? *value : here->second;
    if (env[name].find('\0') != std::string::npos)
      return fail(Kind::usage, fmt::format("variable {} holds a NUL byte", printable(name)));
  }
  return env;
}

void warn_of_ours(const Environment& given, std::vector<std::string>& warnings) {
  for (const auto& [name, value] : given) {
    if (name == "CUDA_VISIBLE_DEVICES") continue;
    if (job_environment({{name, value}}, {}).empty())
      warnings.push_back(
          fmt::format("muster sets {} itself; your value may not reach the job", printable(name)));
  }
}

Result<> fill_names(JobSpec& spec, const SubmitOptions& options, const Profile& profile) {
  spec.name = options.name.value_or(name_of_command(spec.command, spec.shell));
  spec.cluster = profile.name;
  spec.queue = options.queue.value_or(profile.queue);
  spec.experiment = options.experiment.value_or("");
  spec.tags = options.tags;
  spec.key = options.key.value_or("");
  TRY_VOID(check_name("name", spec.name));
  TRY_VOID(check_queue(spec.queue, profile));
  if (!spec.experiment.empty()) TRY_VOID(check_name("experiment", spec.experiment));
  if (!spec.key.empty()) TRY_VOID(check_key(spec.key));
  return {};
}

void fill_rules(JobSpec& spec, const SubmitOptions& options, const Profile& profile) {
  const auto& asked = options.retries;
  spec.priority = options.priority.value_or(profile.priority);
  spec.retries = {.user = asked.user.value_or(profile.retries.user),
                  .memory = asked.memory.value_or(profile.retries.memory),
                  .hang = asked.hang.value_or(profile.retries.hang),
                  .infrastructure = asked.infrastructure.value_or(profile.retries.infrastructure)};
  spec.time_limit = options.time_limit.value_or(profile.time_limit);
  spec.grace = options.grace.value_or(profile.grace);
  // A shell passes TERM on to nobody, so its whole group is told.
  spec.signal_to = options.signal_to.value_or(spec.shell ? SignalTo::group : SignalTo::main);
  spec.dataloader_workers = options.dataloader_workers.value_or(0);
  spec.keep = options.keep.value_or(profile.keep);
}

void fill_submitter(JobSpec& spec, const Submitter& submitter) {
  spec.user = submitter.user;
  spec.umask = submitter.umask;
  spec.nice = submitter.nice;
  spec.limits = submitter.limits;
  const auto parent = submitter.env.find("MUSTER_JOB_ID");
  if (parent != submitter.env.end()) spec.parent = parent->second;
}

Result<> check_requirements(const std::string& path) {
  const auto parts = split(path, '/');
  const bool leaves =
      path.starts_with('/') || std::find(parts.begin(), parts.end(), "..") != parts.end();
  if (!leaves) return {};
  return fail(Kind::usage, fmt::format("{} is not in the code", printable(path)),
              "name a file relative to the top of the project, as requirements.txt");
}

std::int64_t stack_of(const Submitter& submitter) {
  const auto found = submitter.limits.find("stack");
  return found == submitter.limits.end() ? 0 : found->second;
}

}  // namespace

Result<ResolvedJob> resolve(const SubmitOptions& options, const Profile& profile,
                            std::span<const Node> nodes, const Submitter& submitter) {
  ResolvedJob job;
  auto& spec = job.spec;
  if (options.here && options.snapshot)
    return fail(Kind::usage, "--here and --snapshot say different things", "leave one out");
  TRY(spec.command, command_of(options));
  spec.shell = options.shell.has_value();
  TRY(spec.dir, dir_of(options, submitter));
  TRY(spec.request, resolve_request(options, profile, nodes));
  TRY_VOID(fill_names(spec, options, profile));
  fill_rules(spec, options, profile);
  fill_submitter(spec, submitter);
  TRY_VOID(resolve_pod(spec, options, profile));
  TRY(const auto given, explicit_env(options, profile, submitter));
  warn_of_ours(given, job.warnings);
  // Only this machine can make sense of the submitter's paths and libraries.
  job.env = profile.kind == "local" ? job_environment(submitter.env, given) : given;
  TRY_VOID(check_exec_size(spec.command, job.env, stack_of(submitter)));
  job.wants_snapshot = !options.here && !profile.runs_here && !options.snapshot;
  job.allow_racy = options.allow_racy;
  if (options.snapshot) spec.code.snapshot = *options.snapshot;
  spec.code.setup = options.setup.value_or(profile.setup);
  spec.code.requirements = options.requirements.value_or(profile.requirements);
  TRY_VOID(check_requirements(spec.code.requirements));
  const bool has_setup = !spec.code.setup.empty() || !spec.code.requirements.empty();
  if (has_setup && (options.here || profile.runs_here))
    return fail(Kind::usage, "a set-up needs a snapshot: a job in place has none",
                "leave --here out, or set up the folder yourself");
  for (const auto& [name, value] : given) spec.env_names.push_back(name);
  spec.request_hash = request_hash(spec, given);
  return job;
}

}  // namespace muster::spec
