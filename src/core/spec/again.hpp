/// A job submitted again: what its spec says, as options, so that any of them can be said anew.
/// Pure.
#pragma once
#include <string_view>

#include "core/model/job_spec.hpp"
#include "core/spec/submit_options.hpp"

namespace muster::spec {

/// The options of a spec with those of `overrides` (a JSON object of options, none required) on
/// top. Another size replaces the old one as a whole.
Result<SubmitOptions> options_again(const JobSpec& spec, std::string_view overrides);

}  // namespace muster::spec
