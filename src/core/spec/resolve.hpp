/// Turns what a person said, the profile and the nodes into a job that can be stored: the
/// arithmetic of GPUs, nodes and processes, the environment, every default. Says no early and why.
/// Pure; any thread.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "core/model/plan.hpp"
#include "core/spec/config.hpp"
#include "core/spec/submit_options.hpp"

namespace muster::spec {

/// Who submits, from where, and how their shell would have started it.
struct Submitter {
  std::string user;
  std::string dir;  // absolute; empty when unknown (a request from elsewhere)
  Environment env;
  int umask = 022;
  int nice = 0;
  std::map<std::string, std::int64_t> limits;  // soft limits; "stack" bounds argv and environment
};

struct ResolvedJob {
  JobSpec spec;     // env_id is still empty: whoever stores `env` names it
  Environment env;  // what the job starts with, before the variables of ranks
  std::vector<std::string> warnings;
  bool wants_snapshot = false;  // of its folder, as it stands: not taken yet
  bool allow_racy = false;
};

Result<ResolvedJob> resolve(const SubmitOptions& options, const Profile& profile,
                            std::span<const Node> nodes, const Submitter& submitter);

/// The arithmetic alone: nodes, processes, GPUs, cpus, memory.
Result<Request> resolve_request(const SubmitOptions& options, const Profile& profile,
                                std::span<const Node> nodes);

/// The pod settings of a job on Kubernetes, with defaults for its memory; refuses what only this
/// machine has, and elsewhere what only Kubernetes has. `spec` has its request already.
Result<> resolve_pod(JobSpec& spec, const SubmitOptions& options, const Profile& profile);
/// The pods of a job that is submitted again to its own cluster; what the options say about them is
/// taken out of the options.
std::optional<PodSettings> pod_again(const JobSpec& old, SubmitOptions& options);

/// The submitter's environment less what muster sets itself, with `explicit_env` on top.
Environment job_environment(const Environment& submitter, const Environment& explicit_env);
/// SHA-256 over command, resources, cluster and explicit environment: what a repeated key must
/// agree with.
std::string request_hash(const JobSpec& spec, const Environment& explicit_env);

/// Refuses what execve would refuse: an argument or variable of 128 KiB, too much in all.
Result<> check_exec_size(std::span<const std::string> command, const Environment& env,
                         std::int64_t stack_limit);

constexpr std::size_t kLongestArgument = 131'071;

}  // namespace muster::spec
