/// The address of a unix socket whose path may be longer than the 108 bytes of sockaddr_un: such a
/// socket is reached through a descriptor of its folder. Internal to this folder.
#pragma once
#include <sys/socket.h>
#include <sys/un.h>

#include <string>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace muster::http {

struct SocketPath {
  std::string folder;
  std::string name;
};
SocketPath split_path(const std::string& path);
/// A descriptor that only names the folder.
Result<UniqueFd> open_folder(const std::string& folder);
/// False when the path does not fit.
bool fill(sockaddr_un& address, const std::string& path);
/// The socket `name` in the folder behind a descriptor.
Result<sockaddr_un> address_in(int folder, const std::string& name);

}  // namespace muster::http
