/// SQLite's result codes as errors: the kind follows from the code and from errno beneath it.
/// Pure. Included by db.cpp and its tests.
#pragma once
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace muster::sqlite {

/// What SQLite said about a failed call.
struct Failure {
  int code = 0;          // extended result code
  int system_error = 0;  // errno of the failed call, or 0
  std::string message;
};

Error error_of(const Failure& failure, std::string_view path, std::string_view sql);

}  // namespace muster::sqlite
