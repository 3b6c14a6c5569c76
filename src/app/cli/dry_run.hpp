/// What a submission would store, or create on a cluster, as documents; nothing is stored, sent or
/// asked. The id of a job is not known before it is stored: zeros stand for it, and for the home.
#pragma once
#include "app/cli/context.hpp"
#include "app/cli/parsed.hpp"
#include "core/spec/submit_options.hpp"

namespace muster {

/// The exit code of the verb.
Result<int> dry_run(Context& context, const Parsed& parsed, const spec::SubmitOptions& options);

}  // namespace muster
