/// Is a TCP port free on this machine? Any thread.
#pragma once

namespace muster::process {

/// Nobody listens on it, on the loopback or on all addresses. 0 is always free.
bool is_port_free(int port);

}  // namespace muster::process
