/// What was found by looking: one line each, with what to do where something is wrong. Shared by
/// doctor and cluster attach. One thread.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/context.hpp"

namespace muster {

struct Finding {
  std::string name;
  std::string state;  // ok, warn, fail
  std::string text;
  std::string fix;
};

/// An error as a finding that fails.
Finding failed(std::string name, const Error& error);
/// True when none fails.
bool is_well(const std::vector<Finding>& findings);
void print_findings(Context& context, const std::vector<Finding>& findings);
/// A JSON list of {name, state, text, fix}, and back.
std::string to_json(const std::vector<Finding>& findings);
Result<std::vector<Finding>> findings_from_json(std::string_view list);

}  // namespace muster
