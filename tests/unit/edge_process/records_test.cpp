#include <fcntl.h>
#include <rapidcheck/gtest.h>
#include <sys/file.h>

#include <filesystem>

#include "core/model/codec.hpp"
#include "edge/process/attempt_dir.hpp"
#include "edge/process/files.hpp"
#include "edge/process/lines.hpp"
#include "lab.hpp"

namespace muster::process::testing {
namespace {

using Meaning = Traces::Meaning;

/// One attempt directory and its files.
class AttemptDirTest : public ::testing::Test {
 protected:
  AttemptDirTest() : dir_(lab_.home() + "/jobs/j/a1/n0") {}
  void make() { fd_ = std::move(*make_dirs(dir_)); }
  void mark(const std::string& boot) {
    ASSERT_TRUE(
        write_renamed(fd_.get(), "shim.json", to_json(ShimMark{.pid = 4, .boot_id = boot})));
  }
  Meaning meaning() { return look_at(dir_, 1)->meaning; }

  Lab lab_{TierChoice::none};
  std::string dir_;
  UniqueFd fd_;
};

TEST_F(AttemptDirTest, NoDirectoryAndNoLockMeanNotStarted) {
  EXPECT_EQ(meaning(), Meaning::not_started);
  make();
  EXPECT_EQ(meaning(), Meaning::not_started);
}

TEST_F(AttemptDirTest, AHeldLockMeansAlive) {
  make();
  const auto lock = lock_attempt(fd_.get(), LockKind::own);
  ASSERT_TRUE(lock && *lock);
  EXPECT_EQ(meaning(), Meaning::alive);
}

TEST_F(AttemptDirTest, LookersDoNotTakeEachOtherForASupervisor) {
  make();
  {
    const auto made = lock_attempt(fd_.get(), LockKind::own);
  }
  const auto looker = lock_attempt(fd_.get(), LockKind::look);
  ASSERT_TRUE(looker && *looker);
  EXPECT_EQ(meaning(), Meaning::not_started);
}

TEST_F(AttemptDirTest, AMarkWithoutALockMeansThatItDiedOrThatTheMachineWasRestarted) {
  make();
  {
    const auto made = lock_attempt(fd_.get(), LockKind::own);
  }
  mark(boot_id());
  EXPECT_EQ(meaning(), Meaning::died);
  mark("another boot");
  EXPECT_EQ(meaning(), Meaning::rebooted);
}

TEST_F(AttemptDirTest, ARecordIsBelievedWhateverElseIsThere) {
  make();
  const auto lock = lock_attempt(fd_.get(), LockKind::own);
  mark("another boot");
  const ExitRecord record{.ranks = {{.rank = 2, .exit = 3}}};
  ASSERT_TRUE(write_renamed(fd_.get(), "exit.json", exit_text(record, 1, 9)));
  const auto traces = look_at(dir_, 1);
  ASSERT_TRUE(traces && traces->record);
  EXPECT_EQ(traces->meaning, Meaning::ended);
  EXPECT_EQ(traces->record->ranks.at(0).exit, 3);
}

TEST_F(AttemptDirTest, HalfARecordIsNotBelieved) {
  make();
  {
    const auto made = lock_attempt(fd_.get(), LockKind::own);
  }
  mark("another boot");
  ASSERT_TRUE(write_renamed(fd_.get(), "exit.json", "{\"ranks\":[{\"ra"));
  EXPECT_EQ(meaning(), Meaning::rebooted);
}

TEST_F(AttemptDirTest, ATombstoneEndsWhatNeverStartedAndNothingElse) {
  const auto first = leave_tombstone(dir_, 1, "abort");
  ASSERT_TRUE(first && first->record);
  EXPECT_EQ(first->record->killed_by, "abort");
  EXPECT_EQ(meaning(), Meaning::ended);
  const auto again = leave_tombstone(dir_, 1, "gang");
  EXPECT_EQ(again->record->killed_by, "abort") << "the first word stands";
}

TEST_F(AttemptDirTest, ATombstoneYieldsToALiveSupervisor) {
  make();
  const auto lock = lock_attempt(fd_.get(), LockKind::own);
  EXPECT_EQ(leave_tombstone(dir_, 1, "abort")->meaning, Meaning::alive);
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/exit.json"));
}

TEST(ShimMark, ComesBackAsWritten) {
  const ShimMark mark{"build", 3, 8, 77, 1234567, "boot", {"/m", "/c", "/f"}};
  const auto back = parse_mark(to_json(mark));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->slot, mark.slot);
  EXPECT_EQ(back->pid, 77);
  EXPECT_EQ(back->start_ticks, 1234567U);
  EXPECT_EQ(back->epoch, 8);
}

TEST(Lines, ARecordTravelsInALine) {
  const Said said{.say = "ended",
                  .record = ExitRecord{.ranks = {{.rank = 1, .signal = 9}}, .killed_by = "gang"}};
  const auto line = to_line(said);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto back = parse_said(line);
  ASSERT_TRUE(back && back->record);
  EXPECT_EQ(back->record->killed_by, "gang");
  EXPECT_EQ(back->record->ranks.at(0).signal, 9);
}

TEST(Lines, AStopKeepsItsReasonAndGrace) {
  const auto back =
      parse_asked(to_line(Asked{.what = "stop", .why = "abort", .grace = Duration(5)}));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->why, "abort");
  EXPECT_EQ(back->grace, Duration(5));
  EXPECT_FALSE(parse_asked("[1]"));
  EXPECT_FALSE(parse_asked("nonsense"));
}

RC_GTEST_PROP(NodeOrder, ComesBackWithEveryByte,
              (const std::vector<std::string>& argv, const std::map<std::string, std::string>& env,
               const std::string& home)) {
  NodeOrder order{
      .home = home, .home_id = "id", .build_id = "b", .node = 4, .slot = {"/m", "", "/f"}};
  order.plan.argv = argv;
  order.plan.env = env;
  order.plan.nodes.resize(1);
  const auto back = decode_node_order(encode(order));
  RC_ASSERT(back.has_value());
  RC_ASSERT(back->home == home);
  RC_ASSERT(back->node == 4);
  RC_ASSERT(back->slot == order.slot);
  RC_ASSERT(back->plan.argv == argv);
  RC_ASSERT(back->plan.env == env);
}

}  // namespace
}  // namespace muster::process::testing
