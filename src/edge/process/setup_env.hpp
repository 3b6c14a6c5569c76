/// The variables that a set-up sees: those of the job, without what is of one job or of one
/// terminal alone. What it makes is shared, so nothing may get into it that the next job does not
/// have. Pure.
#pragma once
#include <string>

#include "core/model/plan.hpp"

namespace muster::process {

Environment setup_environment(const Environment& env);

/// What decides which packages an installation finds, as one text.
std::string installing_env(const Environment& env);

}  // namespace muster::process
