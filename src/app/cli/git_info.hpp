/// Which commit a folder stands at, and how much it differs: asked of git itself, and only when
/// something may have changed since it was asked last.
#pragma once
#include <string>

#include "core/model/job_spec.hpp"

namespace muster {

/// Fills commit, branch and dirty of `code`, whose top and snapshot are known; leaves them where
/// there is no git. `cache_file` remembers the answer.
void add_git_info(Code& code, const std::string& cache_file);

}  // namespace muster
