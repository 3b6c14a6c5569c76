/// TCP to a server, straight or through a proxy (HTTP CONNECT, over TLS as well, or SOCKS 5).
/// Internal to this folder.
#pragma once
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "edge/http/channel.hpp"
#include "edge/kube/url.hpp"

namespace muster::kube {

struct Route {
  Url server;
  std::optional<Url> proxy;
};

/// A channel to the server itself, without encryption. `waiting.silence` bounds each step of it:
/// finding the name, connecting, the proxy's answer.
Result<std::unique_ptr<http::Channel>> reach(const Route& route, const http::Waiting& waiting);

}  // namespace muster::kube
