/// References to secrets (edge/fs/secrets.hpp) when a job is submitted: a variable of this shell is
/// taken now, the others must be there for the job to get. One thread.
#pragma once
#include <string>

#include "app/cli/context.hpp"

namespace muster {

/// "secret://env:NAME" becomes the value of NAME here; other values stay. `name` is the variable
/// that has it.
Result<> take_secret(const Context& context, const std::string& name, std::string& value);

/// The whole environment of a job: a job that cannot get its secret would only fail later.
Result<> settle_secrets(const Context& context, Environment& env);

}  // namespace muster
