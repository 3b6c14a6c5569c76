#include "edge/http/address.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

namespace muster::http {

SocketPath split_path(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == path.npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

Result<UniqueFd> open_folder(const std::string& folder) {
  UniqueFd fd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno(fmt::format("cannot open the folder {}", folder), errno);
  return fd;
}

bool fill(sockaddr_un& address, const std::string& path) {
  address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) return false;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return true;
}

Result<sockaddr_un> address_in(int folder, const std::string& name) {
  sockaddr_un address;
  if (!fill(address, fmt::format("/proc/self/fd/{}/{}", folder, name)))
    return fail(Kind::usage, fmt::format("the socket's name {} is too long", name),
                "use a name of at most 80 bytes; the folder's path may be of any length");
  return address;
}

}  // namespace muster::http
