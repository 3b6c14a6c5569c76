#include "edge/fs/links.hpp"

#include <unistd.h>

#include <climits>

namespace muster::fs {

std::string link_target(const std::string& path) {
  std::string target(PATH_MAX, '\0');
  const auto n = ::readlink(path.c_str(), target.data(), target.size());
  target.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return target;
}

}  // namespace muster::fs
