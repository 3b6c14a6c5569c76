/// The addresses of a name, from /etc/hosts and the servers of /etc/resolv.conf, which every pod
/// has. Not by getaddrinfo: in a static program it loads the name service modules of whatever image
/// it runs in. Blocks for a few seconds at most.
#pragma once
#include <netinet/in.h>

#include <optional>

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace muster::agent {

/// Both families as one: an IPv4 address is the IPv6 one that stands for it.
using Address = in6_addr;

/// `unavailable` when it has none now: a name may appear later.
Result<std::vector<Address>> addresses_of(const std::string& name);

/// Of one name in a hosts file's text.
std::vector<Address> addresses_in_hosts(std::string_view hosts, std::string_view name);
/// "10.0.0.1" or "fd00::1", or nothing.
std::optional<Address> address_of_text(const std::string& text);

}  // namespace muster::agent
