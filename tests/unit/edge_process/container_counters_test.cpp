// What a container's cgroup says, of either version, from files as the kernel writes them.
#include "edge/process/container_counters.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "edge/fs/files.hpp"

namespace muster::process {
namespace {

class ContainerCount : public testing::Test {
 protected:
  ContainerCount() : dir_("/tmp/muster-count-XXXXXX") {
    if (::mkdtemp(dir_.data()) == nullptr) std::abort();
  }
  ~ContainerCount() override { std::filesystem::remove_all(dir_); }
  void put(const std::string& name, const std::string& text) {
    const auto path = dir_ + "/" + name;
    ASSERT_TRUE(fs::make_dirs(path.substr(0, path.rfind('/'))));
    ASSERT_TRUE(fs::write_whole(path, text));
  }
  std::string dir_;
};

TEST_F(ContainerCount, OfVersionTwo) {
  put("memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 0\n");
  put("memory.peak", "4096\n");
  put("cpu.stat", "usage_usec 700\nuser_usec 300\n");
  const ContainerCounters counters(dir_);
  put("memory.events", "low 0\noom 9\noom_kill 5\n");
  put("cpu.stat", "usage_usec 1700\n");
  const auto since = counters.since();
  ASSERT_TRUE(since);
  EXPECT_EQ(since->oom_kills, 3);
  EXPECT_EQ(since->peak_bytes, 4096);
  EXPECT_EQ(since->cpu_us, 1000);
}

TEST_F(ContainerCount, OfVersionOne) {
  put("memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
  put("memory/memory.max_usage_in_bytes", "8192\n");
  put("cpuacct/cpuacct.usage", "1000000\n");
  const ContainerCounters counters(dir_);
  put("memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
  const auto since = counters.since();
  ASSERT_TRUE(since);
  EXPECT_EQ(since->oom_kills, 1);
  EXPECT_EQ(since->peak_bytes, 8192);
}

TEST_F(ContainerCount, WithoutACgroupThereIsNothing) {
  EXPECT_FALSE(ContainerCounters(dir_).since());
}

}  // namespace
}  // namespace muster::process
