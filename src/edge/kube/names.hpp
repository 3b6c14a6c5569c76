/// Host names to addresses, with a deadline. Internal to this folder.
#pragma once
#include <sys/socket.h>

#include <string>
#include <vector>

#include "base/error.hpp"
#include "edge/http/channel.hpp"

namespace muster::kube {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

Result<std::vector<SocketAddress>> addresses_of(const std::string& host, std::uint16_t port,
                                                const http::Waiting& waiting);

}  // namespace muster::kube
