/// The addresses of servers and proxies, taken apart. Pure; any thread.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace muster::kube {

struct Url {
  std::string scheme;  // lower case
  std::string user;    // "name:password", decoded
  std::string host;    // without the brackets of an IPv6 address
  std::uint16_t port = 0;
  std::string path;  // without a slash at its end

  /// "host:port", with brackets where they are needed.
  std::string authority() const;
};

/// Without a port, the scheme's own.
Result<Url> parse_url(std::string_view text);

/// Whether a host is one of $NO_PROXY's: "*", a name and all below it (".example.org" or
/// "example.org"), an address, or a range of addresses ("10.0.0.0/8").
bool is_exempt(std::string_view host, std::string_view no_proxy);

}  // namespace muster::kube
