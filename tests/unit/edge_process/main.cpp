// The test program is also the zygote's binary (`PROGRAM shim --zygote`) and the jobs
// (`PROGRAM tool NAME ...`).
#include <gtest/gtest.h>

#include <string_view>

#include "edge/process/zygote.hpp"
#include "tools.hpp"

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "shim") return muster::run_zygote(3);
  if (mode == "tool") return muster::process::testing::run_tool(argc - 2, argv + 2);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
