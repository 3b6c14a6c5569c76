#include "app/api/remote.hpp"

#include <optional>

#include "app/api/error_json.hpp"
#include "app/api/routes.hpp"

namespace muster::api {
namespace {

Result<http::ClientRequest> request_of(const Call& call) {
  TRY(auto target, path_for(call.route, call.id));
  if (!call.query.empty()) target += '?' + http::query_text(call.query);
  const auto& route = *route_named(call.route);
  return http::ClientRequest{.method = std::string(route.method),
                             .target = std::move(target),
                             .content_type = std::string(route.takes),
                             .body = call.body,
                             .headers = {{"Accept", std::string(route.gives)}}};
}

class Remote final : public Api {
 public:
  explicit Remote(RemoteOptions options) : options_(std::move(options)) {}

  Result<std::string> call(const Call& call) override {
    TRY(const auto request, request_of(call));
    const bool was_open = connection_.has_value();
    auto response = once(request);
    // A kept connection may close under our hands; looking twice does no harm, changing might.
    if (!response && response.error().kind == Kind::unavailable && was_open &&
        request.method == "GET")
      response = once(request);
    TRY(auto answer, std::move(response));
    if (answer.status / 100 != 2)
      return tl::unexpected(error_from_json(answer.status, answer.body));
    return std::move(answer.body);
  }

  Result<> stream(const Call& call, std::function<bool(std::string_view chunk)> on_chunk) override {
    TRY(const auto request, request_of(call));
    TRY_VOID(connect());
    auto answer = connection_->stream(request, on_chunk);
    if (!answer || !connection_->is_usable()) connection_.reset();
    if (!answer) return tl::unexpected(answer.error());
    if (answer->status / 100 != 2)
      return tl::unexpected(error_from_json(answer->status, answer->body));
    return {};
  }

 private:
  Result<> connect() {
    if (connection_ && connection_->is_usable()) return {};
    connection_.reset();
    TRY(connection_, http::Connection::open(options_.socket_path, options_.timeout, options_.stop));
    return {};
  }

  Result<http::ClientResponse> once(const http::ClientRequest& request) {
    TRY_VOID(connect());
    auto response = connection_->call(request);
    if (!response) connection_.reset();
    return response;
  }

  RemoteOptions options_;
  std::optional<http::Connection> connection_;
};

}  // namespace

std::unique_ptr<Api> make_remote(RemoteOptions options) {
  return std::make_unique<Remote>(std::move(options));
}

}  // namespace muster::api
