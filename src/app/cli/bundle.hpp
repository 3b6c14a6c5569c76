/// Everything about a job that a report of a fault needs, in one text that people can read before
/// they send it. Reads the home alone; asks no server. What is secret is taken out.
#pragma once
#include <string>

#include "app/cli/paths.hpp"
#include "base/error.hpp"

namespace muster {

struct BundleWish {
  std::string job;       // as a person names it
  bool has_logs = true;  // the ends of its logs as well
};
struct Bundle {
  std::string id;
  std::string text;
};

Result<Bundle> make_bundle(const Paths& paths, const BundleWish& wish);

}  // namespace muster
