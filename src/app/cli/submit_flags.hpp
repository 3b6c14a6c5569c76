/// The flags of submit and run, from the one table of core/spec, and the way from a command line to
/// what was asked and by whom. One thread.
#pragma once
#include "app/cli/context.hpp"
#include "app/cli/parsed.hpp"
#include "core/spec/resolve.hpp"

namespace muster {

/// For a verb's `options`; add the verb's own.
std::vector<Option> submit_flags();
/// Options and command of a parsed line; flags that are not in the table are the verb's own.
Result<spec::SubmitOptions> submit_options(const Parsed& parsed);
/// This process's person, folder, environment, umask, nice and soft limits.
/// Fails when the current folder is gone: the job would have nowhere to run.
Result<spec::Submitter> submitter_of(const Context& context);

}  // namespace muster
