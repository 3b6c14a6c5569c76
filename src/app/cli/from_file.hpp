/// `submit --from`: one JSON job a line, acknowledged in order.
#pragma once
#include <string>

#include "app/cli/context.hpp"
#include "core/spec/submit_options.hpp"

namespace muster {

/// `defaults` are the flags of the command line: a line's own fields win.
Result<int> submit_from(Context& context, const std::string& file,
                        const spec::SubmitOptions& defaults);

}  // namespace muster
