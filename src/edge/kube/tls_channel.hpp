/// One encrypted connection. Internal to this folder.
#pragma once
#include <memory>
#include <string>

#include "base/error.hpp"
#include "edge/http/channel.hpp"

struct ssl_ctx_st;

namespace muster::kube {

enum class Checking { full, none };

Result<std::unique_ptr<http::Channel>> shake_hands(ssl_ctx_st* context,
                                                   std::unique_ptr<http::Channel> lower,
                                                   const std::string& host, Checking checking,
                                                   const http::Waiting& waiting);

}  // namespace muster::kube
