/// What `doctor` shows of a server: how jobs are contained, where things are, how full the disk is,
/// what the log complained about.
#pragma once
#include <string>
#include <vector>

#include "app/server/office.hpp"

namespace muster::server {

struct Check {
  std::string name;
  std::string state;  // ok, warn, fail
  std::string text;
  std::string fix;
};

std::vector<Check> server_checks(const Office& office);

}  // namespace muster::server
