#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace muster {

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr, "muster: broken invariant: %s [%s] at %s:%d\n", message.c_str(), condition,
               file, line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace muster
