/// This program copied to where an image's own container finds it. Works where there is nothing but
/// the program: no shell, no libc, no /proc.
#pragma once
#include <string>

#include "base/error.hpp"

namespace muster::agent {

/// To DIR/muster, 0755, whole or not at all.
Result<> install(const std::string& dir);

}  // namespace muster::agent
