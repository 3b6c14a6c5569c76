/// The Api of a server on a unix socket. Connects when first used and again when the server has
/// closed meanwhile. One thread at a time.
#pragma once
#include <chrono>
#include <memory>
#include <string>

#include "base/time.hpp"
#include "edge/http/client.hpp"
#include "port/api.hpp"

namespace muster::api {

struct RemoteOptions {
  std::string socket_path;
  Duration timeout = std::chrono::seconds(60);
  http::Stop stop;  // breaks a call or a stream off: the error is `cancelled`
};

std::unique_ptr<Api> make_remote(RemoteOptions options);

}  // namespace muster::api
