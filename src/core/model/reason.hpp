/// Why a job waits, and the smallest thing that would change it.
#pragma once
#include <string>

namespace muster {

struct Reason {
  std::string code;
  std::string text;
  std::string fix;
};

}  // namespace muster
