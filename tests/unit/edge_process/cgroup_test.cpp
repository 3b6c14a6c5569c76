#include "edge/process/cgroup.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "edge/process/files.hpp"
#include "edge/process/slot_pool.hpp"
#include "lab.hpp"

namespace muster::process::testing {
namespace {

class CgroupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (best_tier() == "none") GTEST_SKIP() << "no writable cgroup here";
  }
  /// A child that sits in the slot.
  pid_t sit_in(const Slot& slot) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      for (const auto& file : open_cgroup(slot)->join_files())
        if (!write_knob(file, "0")) ::_exit(1);
      for (;;) ::pause();
    }
    EXPECT_TRUE(eventually([&] { return !open_cgroup(slot)->is_empty(); }));
    return pid;
  }
  void TearDown() override { const SlotPool sweeper(id_, TierChoice::best); }
  std::string id_ = to_hex(random_bytes(8));
};

TEST_F(CgroupTest, AHeldSlotIsNeverGivenOutTwiceNotEvenByAnotherPool) {
  SlotPool pool(id_, TierChoice::best);
  SlotPool other(id_, TierChoice::best);
  const auto first = pool.acquire();
  const auto second = other.acquire();
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->slot, second->slot);
}

TEST_F(CgroupTest, AReleasedSlotIsUsedAgain) {
  SlotPool pool(id_, TierChoice::best);
  auto first = pool.acquire();
  const auto slot = first->slot;
  pool.release(std::move(*first));
  EXPECT_EQ(pool.acquire()->slot, slot);
}

TEST_F(CgroupTest, ASlotThatSomebodyRemovedIsNotGivenOut) {
  SlotPool pool(id_, TierChoice::best);
  auto first = pool.acquire();
  const auto slot = first->slot;
  pool.release(std::move(*first));
  for (const auto& dir : slot.dirs()) ASSERT_EQ(::rmdir(dir.c_str()), 0);
  auto next = pool.acquire();
  ASSERT_TRUE(next);
  EXPECT_NE(next->slot, slot);
  EXPECT_TRUE(open_cgroup(next->slot)->prepare({}));
  pool.release(std::move(*next));
}

TEST_F(CgroupTest, ASlotThatIsNotEmptyIsRetired) {
  SlotPool pool(id_, TierChoice::best);
  auto first = pool.acquire();
  const auto slot = first->slot;
  const pid_t pid = sit_in(slot);
  pool.release(std::move(*first));
  EXPECT_NE(pool.acquire()->slot, slot);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

TEST_F(CgroupTest, SlotsOfAnEarlierServerAreTakenUpOnceNobodyHoldsThem) {
  auto earlier = std::make_unique<SlotPool>(id_, TierChoice::best);
  auto held = std::make_unique<HeldSlot>(std::move(*earlier->acquire()));
  earlier.reset();
  SlotPool pool(id_, TierChoice::best);
  const auto slot = held->slot;
  EXPECT_NE(pool.acquire()->slot, slot) << "its holder is still there";
  held.reset();
  SlotPool later(id_, TierChoice::best);
  std::set<Slot> got;
  std::vector<HeldSlot> keep;
  for (int i = 0; i < 3; ++i) {
    keep.push_back(std::move(*later.acquire()));
    got.insert(keep.back().slot);
  }
  EXPECT_TRUE(got.contains(slot));
  for (auto& one : keep) later.release(std::move(one));
}

TEST_F(CgroupTest, KillingReachesFrozenAndStoppedMembersAndCgroupsBelow) {
  SlotPool pool(id_, TierChoice::best);
  auto held = pool.acquire();
  const auto cgroup = open_cgroup(held->slot);
  const pid_t first = sit_in(held->slot);
  ::kill(first, SIGSTOP);
  Slot below = held->slot;
  for (auto* dir : {&below.memory, &below.cpuacct, &below.freezer})
    if (!dir->empty()) ::mkdir((*dir += "/inner").c_str(), 0755);
  const pid_t second = sit_in(below);
  EXPECT_EQ(cgroup->kill_all(), 2);
  ::waitpid(first, nullptr, 0);
  ::waitpid(second, nullptr, 0);
  EXPECT_TRUE(cgroup->is_empty());
  for (const auto& dir : below.dirs()) ::rmdir(dir.c_str());
  pool.release(std::move(*held));
}

TEST_F(CgroupTest, CountersStartAtZeroForEachUser) {
  SlotPool pool(id_, TierChoice::best);
  auto held = pool.acquire();
  const auto burn = [&] {
    const pid_t pid = ::fork();
    if (pid == 0) {
      for (const auto& file : open_cgroup(held->slot)->join_files()) (void)write_knob(file, "0");
      std::vector<char> memory(32 << 20, 1);
      ::_exit(memory[12345] == 1 ? 0 : 1);
    }
    ::waitpid(pid, nullptr, 0);
  };
  const auto first = open_cgroup(held->slot);
  ASSERT_TRUE(first->prepare({}));
  burn();
  if (!held->slot.memory.empty()) {
    EXPECT_GE(first->counters().peak_bytes, 32 << 20);
  }
  if (!held->slot.cpuacct.empty()) {
    EXPECT_GT(first->counters().cpu_us, 0);
  }
  const auto second = open_cgroup(held->slot);
  ASSERT_TRUE(second->prepare({}));
  EXPECT_LT(second->counters().peak_bytes, 16 << 20);
  EXPECT_EQ(second->counters().oom_kills, 0);
  pool.release(std::move(*held));
}

TEST(NoCgroup, CountsNothingAndIsEmpty) {
  SlotPool pool("x", TierChoice::none);
  EXPECT_EQ(pool.tier(), "none");
  const auto held = pool.acquire();
  ASSERT_TRUE(held);
  EXPECT_FALSE(held->slot.exists());
  EXPECT_TRUE(open_cgroup(held->slot)->is_empty());
  EXPECT_TRUE(open_cgroup(held->slot)->join_files().empty());
}

}  // namespace
}  // namespace muster::process::testing
