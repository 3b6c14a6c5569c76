/// What several verbs do with a server: submit durably, follow a job to its end, learn how it
/// ended. A server that dies meanwhile is started again and asked again; keys make that safe.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "app/cli/context.hpp"
#include "core/spec/resolve.hpp"
#include "port/api.hpp"

namespace muster {

struct Accepted {
  std::string id;
  bool existed = false;
  std::vector<std::string> warnings;
  std::string old;  // the job it takes the place of
};

/// Sends a submission and reads what was accepted.
Result<Accepted> accepted_by(Context& context, const Call& call);

class CodeTaker;

/// Resolves what was asked with this person's profile, environment and machine. Stores nothing.
Result<spec::ResolvedJob> resolve_job(Context& context, const spec::SubmitOptions& options);

/// The same, and takes the code.
Result<spec::ResolvedJob> resolve_here(Context& context, const spec::SubmitOptions& options,
                                       CodeTaker& code);

/// Returns when the job is durable.
Result<Accepted> submit(Context& context, const spec::ResolvedJob& job);

/// A call that is repeated while the server is away, a few times.
Result<std::string> call_again(Context& context, const Call& call);

/// Blocks until the job is final; its document. `timeout_s` 0: no limit, else `exhausted` when
/// over.
Result<std::string> await_end(Context& context, const std::string& id, double timeout_s = 0);

/// How a job ended, as an exit code: its own, 128+N for a signal, 125 when the platform or a cancel
/// ended it.
int exit_code_of(std::string_view job_json);

/// Copies the log of a job to stdout and stderr until it ends, across attempts and server restarts.
Result<> follow_output(Context& context, const std::string& id, int ranks);

}  // namespace muster
