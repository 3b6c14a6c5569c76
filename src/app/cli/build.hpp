/// Which program this is.
#pragma once
#include <string>

namespace muster {

struct Build {
  std::string version;
  std::string build_id;  // of the linker, hex; empty when it wrote none
  std::string commit;    // empty when the build was not told
};

Build this_build();

}  // namespace muster
