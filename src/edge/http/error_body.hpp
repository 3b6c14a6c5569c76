/// An Error as the body of an HTTP answer, and back:
/// {"kind","what","where","why","fix":[...]}. Pure; any thread.
#pragma once
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "edge/http/message.hpp"

namespace muster::http {

std::string error_body(const Error& error);
/// The answer that carries an error. `status` 0 takes the status of the error's kind.
Response error_response(const Error& error, int status = 0);
/// What a refusal meant. A body that is not ours still becomes an error: of the kind that belongs
/// to the status, with the beginning of the body as its reason.
Error error_of(int status, std::string_view body);

}  // namespace muster::http
