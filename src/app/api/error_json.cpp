#include "app/api/error_json.hpp"

#include "edge/http/error_body.hpp"

namespace muster::api {

std::string error_to_json(const Error& error) { return http::error_body(error); }

Error error_from_json(int status, std::string_view body) { return http::error_of(status, body); }

http::Response response_of(const Error& error) { return http::error_response(error); }

http::Response response_of(const Miss& miss) {
  auto response = http::error_response(miss.error, miss.status);
  if (!miss.allow.empty()) response.headers.emplace_back("Allow", miss.allow);
  return response;
}

}  // namespace muster::api
