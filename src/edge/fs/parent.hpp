/// The folder in which a path lies. Pure.
#pragma once
#include <string>

namespace muster::fs {

/// "." for a name without a slash; "/" and "." lie in themselves.
inline std::string parent_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace muster::fs
