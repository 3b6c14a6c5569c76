/// A listening TCP socket. Any thread.
#pragma once
#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "edge/http/server.hpp"

namespace muster::http {

/// The host is an address in figures. Both families where it is empty, as far as the kernel has
/// them.
Result<UniqueFd> listen_tcp(const TcpAddress& address);
/// The port a socket is bound to; 0 when it is none.
int port_of(int fd);

}  // namespace muster::http
