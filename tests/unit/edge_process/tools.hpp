/// Jobs for the tests, in this program itself so that they need nothing installed.
#pragma once

namespace muster::process::testing {

int run_tool(int argc, char** argv);

}  // namespace muster::process::testing
