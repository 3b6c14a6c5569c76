#include <array>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/spec/resolve.hpp"

namespace muster::spec {
namespace {

constexpr std::array<std::string_view, 7> kSetForRanks{
    "RANK",      "LOCAL_RANK",  "WORLD_SIZE", "LOCAL_WORLD_SIZE",
    "NODE_RANK", "MASTER_ADDR", "MASTER_PORT"};

/// What muster itself sets for a job: a job that submits a job must not hand its own rank down.
bool is_ours(std::string_view name, bool inside_a_job) {
  if (name == "MUSTER_HOME" || name == "MUSTER_PRESTEP") return false;
  if (name.starts_with("MUSTER_")) return true;
  // A person's own choice of GPUs stays; one that muster made for the parent does not.
  if (name == "CUDA_VISIBLE_DEVICES") return inside_a_job;
  return std::find(kSetForRanks.begin(), kSetForRanks.end(), name) != kSetForRanks.end();
}

void feed(std::string& bytes, std::string_view part) {
  bytes += fmt::format("{}:", part.size());
  bytes += part;
}

constexpr std::size_t kPointer = 8;
constexpr std::int64_t kKi = 1024;
constexpr std::int64_t kDefaultStack = 8 * kKi * kKi;
constexpr std::int64_t kMost = 6 * kKi * kKi;  // three quarters of the kernel's default stack
constexpr std::int64_t kLeast = 128 * kKi;     // what the kernel always grants
constexpr std::int64_t kOurOwn = 16 * kKi;     // room for the variables muster adds

std::int64_t exec_room(std::int64_t stack_limit) {
  const std::int64_t stack = stack_limit == 0 ? kDefaultStack : stack_limit;
  const std::int64_t room = stack < 0 ? kMost : std::min(stack / 4, kMost);  // < 0: unlimited
  return std::max(room, kLeast) - kOurOwn;
}

}  // namespace

Environment job_environment(const Environment& submitter, const Environment& explicit_env) {
  const bool inside_a_job = submitter.contains("MUSTER_JOB_ID");
  Environment env = explicit_env;
  for (const auto& [name, value] : submitter)
    if (!is_ours(name, inside_a_job)) env.try_emplace(name, value);
  return env;
}

std::string request_hash(const JobSpec& spec, const Environment& explicit_env) {
  std::string bytes = "muster request 1\n";
  feed(bytes, fmt::format("{}", spec.command.size()));
  for (const auto& word : spec.command) feed(bytes, word);
  const auto& r = spec.request;
  feed(bytes, fmt::format("{} {} {} {} {}", r.nodes, r.procs_per_node, r.gpus_per_node,
                          r.cpus_per_node.count, r.memory_per_node.count));
  feed(bytes, spec.cluster);
  if (spec.pod) {
    feed(bytes, spec.pod->image);
    feed(bytes, spec.pod->spot ? name_of(*spec.pod->spot) : "");
  }
  for (const auto& [name, value] : explicit_env) {
    feed(bytes, name);
    feed(bytes, value);
  }
  return sha256_hex(bytes);
}

Result<> check_exec_size(std::span<const std::string> command, const Environment& env,
                         std::int64_t stack_limit) {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (command[i].size() > kLongestArgument)
      return fail(Kind::usage,
                  fmt::format("argument {} has {} bytes; the system takes at most {}", i,
                              command[i].size(), kLongestArgument),
                  "put it into a file and pass the file's name");
    total += static_cast<std::int64_t>(command[i].size() + 1 + kPointer);
  }
  for (const auto& [name, value] : env) {
    const std::size_t bytes = name.size() + 1 + value.size();
    if (bytes > kLongestArgument)
      return fail(Kind::usage,
                  fmt::format("variable {} has {} bytes; the system takes at most {}",
                              printable(name), bytes, kLongestArgument),
                  fmt::format("unset it: env -u {} muster ...", printable(name)));
    total += static_cast<std::int64_t>(bytes + 1 + kPointer);
  }
  if (total > exec_room(stack_limit))
    return fail(Kind::usage,
                fmt::format("command and environment have {} bytes; the system takes at most {}",
                            total, exec_room(stack_limit)),
                "pass long lists in a file, or raise the stack limit (ulimit -s) up to 24 MiB");
  return {};
}

}  // namespace muster::spec
