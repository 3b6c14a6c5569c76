/// What an object may be called (port/blob.hpp). Pure.
#pragma once
#include <string_view>

#include "base/error.hpp"

namespace muster {

/// Parts of [a-z0-9._-] with '/' between them, none of them "." or "..", or `usage`.
Result<> check_blob_name(std::string_view name);
/// The same for the beginning of a name: it may be empty, or end in the middle of a part.
Result<> check_blob_prefix(std::string_view prefix);

}  // namespace muster
