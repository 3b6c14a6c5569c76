#include "app/server/intake.hpp"

#include "base/text.hpp"
#include "core/model/codec.hpp"
#include "core/model/json.hpp"
#include "edge/fs/secrets.hpp"

namespace muster::server {
namespace {

Result<> check_amount(std::string_view what, std::int64_t asked, std::int64_t low,
                      std::int64_t high) {
  if (asked >= low && asked <= high) return {};
  return fail(Kind::usage, fmt::format("the job asks for {} {}", asked, what),
              fmt::format("a job may have {} to {}", low, high));
}

json::value env_to_json(const Environment& env) {
  json::array pairs;
  for (const auto& [name, value] : env)
    pairs.push_back(json::array{bytes_to_json(name), bytes_to_json(value)});
  return pairs;
}

Result<Environment> env_from_json(const json::value& value) {
  if (!value.is_array()) return fail(Kind::usage, "\"env\" must be a list of [name, value] pairs");
  Environment env;
  for (const auto& pair : value.get_array()) {
    if (!pair.is_array() || pair.get_array().size() != 2)
      return fail(Kind::usage, "\"env\" must be a list of [name, value] pairs");
    TRY(auto name, bytes_from_json(pair.get_array()[0]));
    TRY(auto text, bytes_from_json(pair.get_array()[1]));
    if (name.empty() || name.find('=') != std::string::npos ||
        name.find('\0') != std::string::npos || text.find('\0') != std::string::npos)
      return fail(Kind::usage, "a variable's name is empty or holds = or NUL");
    env[std::move(name)] = std::move(text);
  }
  return env;
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == name.npos &&
         name.find('\0') == name.npos;
}

/// The folder is put together from these: nothing of them may lead out of it.
Result<> check_code(const Code& code) {
  const bool is_id = code.snapshot.size() == 64 &&
                     code.snapshot.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!code.snapshot.empty() && !is_id) return fail(Kind::usage, "not the id of a snapshot");
  const auto parts = split(code.below, '/');
  const bool is_inside =
      code.below.empty() || std::all_of(parts.begin(), parts.end(), is_plain_name);
  const bool are_names = std::all_of(code.links.begin(), code.links.end(), is_plain_name);
  if (!is_inside || !are_names)
    return fail(Kind::usage, "a path of the code leads out of the job's folder");
  return {};
}

/// What rendering relies on.
Result<> check_pod(const JobSpec& spec) {
  if (!spec.pod) return {};
  const auto& pod = *spec.pod;
  if (!pod.image.empty() && !pod.agent_image.empty() && pod.shm.count > 0 &&
      spec.request.memory_per_node.count > 0)
    return {};
  return fail(Kind::usage, "a job on Kubernetes needs an image, an agent's image, memory and shm",
              "let muster submit fill in what the profile says");
}

Result<JobSpec> resolved_spec(const json::object& body, EnvStore& envs) {
  const auto* given = field(body, "spec");
  TRY(auto spec, decode_spec(json::serialize(*given)));
  TRY_VOID(check_spec(spec));
  if (const auto* env = field(body, "env")) {
    TRY(const auto parsed, env_from_json(*env));
    TRY_VOID(check_env(parsed));
    TRY(spec.env_id, envs.put(parsed));
  } else if (!envs.claim(spec.env_id)) {
    return fail(Kind::usage, "the submission names an environment that was not sent",
                "send \"env\" with the first job that uses it");
  }
  return spec;
}

/// A script's environment: enough to find programs and a home.
Environment plain_environment(const std::string& user) {
  return {{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
          {"USER", user},
          {"LOGNAME", user},
          {"LANG", "C.UTF-8"}};
}

}  // namespace

std::string environment_json(const Environment& env) { return json::serialize(env_to_json(env)); }

Result<Environment> environment_from_json(std::string_view list) {
  TRY(const auto parsed, parse_json(list));
  return env_from_json(parsed);
}

// What execve, the supervisor and the engine rely on, whoever sent it.
Result<> check_spec(const JobSpec& spec) {
  TRY_VOID(check_code(spec.code));
  TRY_VOID(check_pod(spec));
  if (spec.command.empty() || spec.command.front().empty())
    return fail(Kind::usage, "the command is empty", "give a program to run");
  for (const auto& argument : spec.command) {
    if (argument.size() > spec::kLongestArgument)
      return fail(Kind::usage,
                  fmt::format("an argument of {} bytes is longer than the kernel's limit of {}",
                              argument.size(), spec::kLongestArgument),
                  "put it into a file and pass its name");
    if (argument.find('\0') != std::string::npos)
      return fail(Kind::usage, "an argument holds a NUL byte, which no program can be given");
  }
  if (spec.dir.empty() || spec.dir.front() != '/')
    return fail(Kind::usage, "the job's folder must be an absolute path");
  const auto& request = spec.request;
  TRY_VOID(check_amount("nodes", request.nodes, 1, 100'000));
  TRY_VOID(check_amount("processes a node", request.procs_per_node, 1, 10'000));
  TRY_VOID(check_amount("GPUs a node", request.gpus_per_node, 0, 1'000));
  TRY_VOID(check_amount("thousandths of a cpu", request.cpus_per_node.count, 0, INT64_MAX));
  TRY_VOID(check_amount("bytes of memory", request.memory_per_node.count, 0, INT64_MAX));
  if (spec.name.size() > 255 || spec.key.size() > 255)
    return fail(Kind::usage, "a name or key is longer than 255 bytes");
  return {};
}

/// A variable of a shell that is not here any more can only be refused.
Result<> check_env(const Environment& env) {
  for (const auto& [name, value] : env)
    if (const auto ref = fs::secret_ref(value); ref && ref->from == fs::SecretRef::From::env)
      TRY_VOID(within(fs::Secrets("").get(*ref), fmt::format("variable {}", printable(name))));
  return {};
}

Result<JobSpec> spec_of_body(std::string_view body, const std::string& user, EnvStore& envs,
                             const Defaults& defaults) {
  TRY(const auto parsed, parse_json(body));
  if (!parsed.is_object())
    return fail(Kind::usage, "a job must be a JSON object",
                "send {\"command\":[\"program\",\"argument\"]}");
  JobSpec spec;
  if (field(parsed.get_object(), "spec") != nullptr) {
    TRY(spec, resolved_spec(parsed.get_object(), envs));
  } else {
    TRY(const auto options, spec::submit_options_from_json(body));
    const spec::Submitter submitter{.user = user,
                                    .dir = options.dir.value_or("/"),
                                    .env = plain_environment(user),
                                    .limits = {{"nofile", 1024}}};
    TRY(auto job, spec::resolve(options, defaults.profile, defaults.nodes, submitter));
    spec = std::move(job.spec);
    TRY_VOID(check_spec(spec));
    TRY_VOID(check_env(job.env));
    TRY(spec.env_id, envs.put(job.env));
  }
  spec.user = user;
  return spec;
}

std::string submission_json(const spec::ResolvedJob& job, bool with_env) {
  json::object out;
  auto spec = job.spec;
  spec.env_id = env_id_of(job.env);
  out["spec"] = *parse_json(encode(spec));
  if (with_env) out["env"] = env_to_json(job.env);
  return json::serialize(out);
}

}  // namespace muster::server
