/// What a home takes of the disk, by what it is for. Reads the disk alone; asks no server.
#pragma once
#include <string>
#include <vector>

#include "app/cli/paths.hpp"
#include "edge/fs/usage.hpp"

namespace muster {

struct HomePart {
  std::string name;
  std::string what;
  fs::Usage usage;
};

/// Every part, also those that are empty; what is none of them is the last, "others".
std::vector<HomePart> home_parts(const Paths& paths);

struct JobUsage {
  std::string id;
  fs::Usage usage;
};

/// The folders of jobs, the largest first.
std::vector<JobUsage> job_usages(const std::string& home);

}  // namespace muster
