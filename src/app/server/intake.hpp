/// From the body of a submission to a spec whose environment is durable. Runs on the intake's own
/// thread, because it syncs.
#pragma once
#include <string>
#include <string_view>

#include "app/server/env_store.hpp"
#include "core/spec/resolve.hpp"

namespace muster::server {

/// What the server itself knows when a submission leaves it open.
struct Defaults {
  spec::Profile profile;
  std::vector<Node> nodes;
};

/// A client that has resolved the job sends {"spec":{...},"env":{...}} (env once per distinct one);
/// anybody else sends the fields of docs/reference/job.md.
Result<JobSpec> spec_of_body(std::string_view body, const std::string& user, EnvStore& envs,
                             const Defaults& defaults);

/// What no job may be, whoever sends it.
Result<> check_spec(const JobSpec& spec);
Result<> check_env(const Environment& env);

/// An environment as submissions carry it: a JSON list of [name, value] pairs.
std::string environment_json(const Environment& env);
Result<Environment> environment_from_json(std::string_view list);

/// The body our own client sends.
std::string submission_json(const spec::ResolvedJob& job, bool with_env);

}  // namespace muster::server
