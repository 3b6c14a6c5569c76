/// How large a tree is, and what makes it so: one walk, nothing is read.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace muster::snapshot {

struct Survey {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::vector<std::pair<std::string, std::uint64_t>> largest;  // at the top: at most 5, by size
};

Result<Survey> survey_tree(const std::string& top);

}  // namespace muster::snapshot
