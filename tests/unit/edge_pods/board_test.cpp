// News of the cluster that come late, twice, out of order or not at all.
#include "edge/pods/board.hpp"

#include <gtest/gtest.h>

namespace muster::pods {
namespace {

PodRow pod(std::uint64_t version, Phase phase, std::string uid = "u1") {
  return {.name = "m-1-h-1-0-abcde",
          .uid = std::move(uid),
          .version = version,
          .job = "m-1-h-1",
          .index = 0,
          .node = "vm-1",
          .phase = phase};
}

JobRow job(std::uint64_t version, std::string stop_why = "") {
  return {.name = "m-1-h-1", .uid = "j1", .version = version, .stop_why = std::move(stop_why)};
}

void list(Board& board, const std::vector<PodRow>& rows) {
  board.begin(Board::pods);
  for (const auto& row : rows) board.put(row);
}

TEST(Board, SaysNothingBeforeBothWatchesHaveToldEverything) {
  Board board;
  EXPECT_FALSE(board.blindness().empty());
  board.begin(Board::jobs);
  (void)board.synced(Board::jobs);
  EXPECT_FALSE(board.blindness().empty());
  board.trouble(Board::pods, "connection refused");
  EXPECT_EQ(board.blindness(), "connection refused");
  board.begin(Board::pods);
  (void)board.synced(Board::pods);
  EXPECT_TRUE(board.blindness().empty());
}

TEST(Board, OlderNewsOfAPodAreNoNews) {
  Board board;
  EXPECT_TRUE(board.put(pod(7, Phase::succeeded)));
  EXPECT_FALSE(board.put(pod(5, Phase::running)));
  EXPECT_FALSE(board.put(pod(7, Phase::succeeded)));
  EXPECT_EQ(board.group("m-1-h-1").pods[0].phase, Phase::succeeded);
}

TEST(Board, APodIsOursWhenOurJobControlsItWhateverItsLabelsSay) {
  Board board;
  auto made = pod(5, Phase::running);
  made.owner = "j1";
  auto forged = pod(6, Phase::succeeded, "u2");
  forged.name = "m-1-h-1-0-zzzzz";
  EXPECT_TRUE(board.is_ours(made));  // its Job may be told later
  EXPECT_FALSE(board.is_ours(forged));
  board.put(job(3));
  board.put(made);
  EXPECT_FALSE(board.is_ours(forged));
  forged.owner = "another Job";
  EXPECT_FALSE(board.is_ours(forged));
  made.owner.clear();  // the Job was deleted and its pods were left
  EXPECT_TRUE(board.is_ours(made));
}

TEST(Board, OlderNewsOfAJobAreNoNews) {
  Board board;
  EXPECT_TRUE(board.put(job(9, "abort")));
  EXPECT_FALSE(board.put(job(4)));
  EXPECT_EQ(board.group("m-1-h-1").job->stop_why, "abort");
}

TEST(Board, WhatIsGoneStaysGoneWhateverComesLate) {
  Board board;
  board.put(job(3));
  board.put(pod(5, Phase::succeeded));
  board.remove_pod(pod(8, Phase::succeeded));
  EXPECT_FALSE(board.put(pod(5, Phase::succeeded)));
  EXPECT_TRUE(board.group("m-1-h-1").pods[0].is_gone);
  board.remove_job(job(9));
  EXPECT_FALSE(board.put(job(3)));
  board.forget("m-1-h-1");
  EXPECT_FALSE(board.put(pod(7, Phase::succeeded)));
  board.remove_pod(pod(8, Phase::succeeded));
  EXPECT_TRUE(board.job_names().empty());
}

TEST(Board, WhatLeftOurSightMayComeBack) {
  Board board;
  board.put(pod(5, Phase::running));
  board.remove_pod(pod(6, Phase::running));  // its label was taken off
  EXPECT_TRUE(board.put(pod(9, Phase::running)));
  EXPECT_FALSE(board.group("m-1-h-1").pods[0].is_gone);
}

TEST(Board, WhatWasAskedForInTheStateItLeftOurSightInIsThere) {
  Board board;
  board.put(pod(5, Phase::running));
  board.remove_pod(pod(6, Phase::running));
  EXPECT_TRUE(board.put(pod(6, Phase::running)));
  board.remove_pod(pod(6, Phase::running));  // told twice
  EXPECT_FALSE(board.group("m-1-h-1").pods[0].is_gone);
  board.remove_pod(pod(7, Phase::running));
  EXPECT_TRUE(board.group("m-1-h-1").pods[0].is_gone);
}

TEST(Board, AListThatLeavesAPodOutOnlyMissesIt) {
  Board board;
  list(board, {pod(5, Phase::running)});
  EXPECT_TRUE(board.synced(Board::pods).empty());
  list(board, {});
  EXPECT_EQ(board.synced(Board::pods), std::vector<std::string>{"m-1-h-1"});
  EXPECT_TRUE(board.group("m-1-h-1").pods[0].is_missed);
  EXPECT_FALSE(board.group("m-1-h-1").pods[0].is_gone);
  EXPECT_TRUE(board.put(pod(5, Phase::running)));  // asked for, and there
  EXPECT_FALSE(board.group("m-1-h-1").pods[0].is_missed);
}

TEST(Board, AListMayNameAnOlderState) {
  Board board;
  list(board, {pod(7, Phase::succeeded)});
  board.synced(Board::pods);
  list(board, {pod(5, Phase::running)});
  EXPECT_TRUE(board.synced(Board::pods).empty());
  EXPECT_EQ(board.group("m-1-h-1").pods[0].phase, Phase::succeeded);
}

TEST(Board, AfterARestoredBackupLowerVersionsCount) {
  Board board;
  board.put(pod(700, Phase::running));
  board.set_back(Board::pods);
  EXPECT_TRUE(board.put(pod(5, Phase::succeeded)));
}

TEST(Board, APodOfTheSameNameAndAnotherUidIsAnother) {
  Board board;
  board.put(pod(7, Phase::failed));
  EXPECT_TRUE(board.put(pod(5, Phase::running, "u2")));
}

}  // namespace
}  // namespace muster::pods
