#include "edge/process/port_check.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/unique_fd.hpp"

namespace muster::process {
namespace {

/// Without SO_REUSEADDR: an address that is only winding down counts as taken, as it would for a
/// rank that does not set it either.
bool can_bind(in_addr_t address, int port) {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return true;  // out of descriptors says nothing about the port
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<std::uint16_t>(port));
  name.sin_addr.s_addr = htonl(address);
  return ::bind(fd.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) == 0;
}

}  // namespace

bool is_port_free(int port) {
  return port <= 0 || (can_bind(INADDR_LOOPBACK, port) && can_bind(INADDR_ANY, port));
}

}  // namespace muster::process
