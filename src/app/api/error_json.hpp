/// Errors on the wire: {"kind","what","where","why","fix":[...]}. Pure; any thread.
#pragma once
#include <string>
#include <string_view>

#include "app/api/routes.hpp"
#include "base/error.hpp"
#include "edge/http/message.hpp"

namespace muster::api {

std::string error_to_json(const Error& error);
/// The error of an answer that is no success, whoever wrote its body.
Error error_from_json(int status, std::string_view body);

/// The whole answer that carries an error, with the status of its kind.
http::Response response_of(const Error& error);
/// The whole answer to a request that no route takes.
http::Response response_of(const Miss& miss);

}  // namespace muster::api
