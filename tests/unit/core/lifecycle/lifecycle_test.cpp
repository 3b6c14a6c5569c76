#include <csignal>

#include "core/lifecycle/apply.hpp"
#include "core/lifecycle/classify.hpp"
#include "core/lifecycle/retry.hpp"
#include "support/builders.hpp"

namespace muster::lifecycle {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using test::record_of;
using test::spec_of;

Job placed_job(int nodes = 1, int ranks = 1) {
  Job job = born(1, {}, Submitted{JobId("ann_1_00000001"), spec_of()});
  std::vector<Placement> placements;
  for (int node = 0; node < nodes; ++node)
    placements.push_back(
        {.node = NodeName("n" + std::to_string(node)), .first_rank = node * ranks, .ranks = ranks});
  apply(job, {}, Placed{1, 1, placements, 20'000});
  return job;
}

AttemptEnded verdict(const Job& job, std::vector<NodeEnd> ends) {
  return classify(job, *job.live, ends);
}
NodeEnd end_of(ExitRecord record, int node = 0) {
  return {.node = node, .record = std::move(record)};
}

TEST(Classify, AllZeroIsSuccess) {
  EXPECT_EQ(verdict(placed_job(), {end_of(record_of(1))}).cause, Cause::success);
}

TEST(Classify, WhoeverWasToldToEndDidNotSucceed) {
  const ExitRecord told{.ranks = {}, .killed_by = "gang", .why = {}};
  const auto end = verdict(placed_job(), {end_of(told)});
  EXPECT_EQ(end.cause, Cause::lost);
  EXPECT_FALSE(end.evidence.empty());
}

TEST(Classify, ARecordWithoutTimesTellsNone) {
  auto cut = record_of(2);
  cut.ranks[0].started = cut.ranks[0].ended = {};
  cut.ranks[1].started = {5};
  cut.ranks[1].ended = {9};
  const auto end = verdict(placed_job(1, 2), {end_of(cut)});
  EXPECT_EQ(end.started_at, WallTime{5});
  EXPECT_EQ(end.ended_at, WallTime{9});
  cut.ranks.pop_back();
  EXPECT_EQ(verdict(placed_job(), {end_of(cut)}).started_at, std::nullopt);
  EXPECT_EQ(verdict(placed_job(), {end_of(cut)}).ended_at, std::nullopt);
}

TEST(Classify, AnExitCodeIsTheUsersOwn) {
  const auto end = verdict(placed_job(), {end_of(record_of(1, 3))});
  EXPECT_EQ(end.cause, Cause::user_code);
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_FALSE(end.evidence.empty());
}

TEST(Classify, TheFirstRankThatFailedGivesTheCode) {
  auto first = record_of(2), second = record_of(2);
  first.ranks[1] = {.rank = 1, .signal = SIGTERM, .ended_run_us = 50};
  first.killed_by = "gang";
  second.ranks[0] = {.rank = 2, .exit = 7, .ended_run_us = 20};
  const auto end = verdict(placed_job(2, 2), {end_of(first, 0), end_of(second, 1)});
  EXPECT_EQ(end.exit_code, 7);
  EXPECT_EQ(end.first_failed_rank, 2);
  EXPECT_EQ(end.cause, Cause::user_code);
}

TEST(Classify, Kill137AloneIsNotOutOfMemory) {
  EXPECT_EQ(verdict(placed_job(), {end_of(record_of(1, 0, SIGKILL))}).cause, Cause::killed_unknown);
  auto record = record_of(1, 0, SIGKILL);
  record.ranks[0].oom_kills = 1;
  EXPECT_EQ(verdict(placed_job(), {end_of(record)}).cause, Cause::host_oom);
}

TEST(Classify, AChildLostToMemoryIsToldEvenWhenMainSucceeds) {
  auto record = record_of(1);
  record.ranks[0].oom_kills = 2;
  const auto end = verdict(placed_job(), {end_of(record)});
  EXPECT_EQ(end.cause, Cause::success);
  ASSERT_EQ(end.evidence.size(), 1U);
  EXPECT_NE(end.evidence[0].find("memory"), std::string::npos);
}

TEST(Classify, ExitZeroAfterAnAbortIsNotSuccess) {
  Job job = placed_job();
  apply(job, {}, CancelRequested{"bob"});
  auto record = record_of(1);
  record.killed_by = "abort";
  EXPECT_EQ(verdict(job, {end_of(record)}).cause, Cause::cancelled);
}

TEST(Classify, AnEndThatCameBeforeTheAbortStands) {
  Job job = placed_job();
  apply(job, {}, CancelRequested{"bob"});
  EXPECT_EQ(verdict(job, {end_of(record_of(1))}).cause, Cause::success);
  EXPECT_EQ(verdict(job, {end_of(record_of(1, 4))}).cause, Cause::user_code);
}

TEST(Classify, OutsideEndsHaveTheirOwnCauses) {
  const Job job = placed_job();
  auto limited = record_of(1, 0, SIGTERM);
  limited.killed_by = "time_limit";
  EXPECT_EQ(verdict(job, {end_of(limited)}).cause, Cause::time_limit);
  EXPECT_EQ(verdict(job, {{.node = 0, .record = std::nullopt, .loss = Cause::host_reboot}}).cause,
            Cause::host_reboot);
  ExitRecord never{.ranks = {}, .killed_by = "never_started: no space", .why = {}};
  EXPECT_EQ(verdict(job, {end_of(never)}).cause, Cause::never_started);
  ExitRecord alone{.ranks = {}, .killed_by = "barrier_timeout: missing rank(s) 1", .why = {}};
  EXPECT_EQ(verdict(job, {end_of(alone)}).cause, Cause::barrier_timeout);
  auto exec = record_of(1, 127);
  exec.why = "no such program: trian";
  EXPECT_EQ(verdict(job, {end_of(exec)}).cause, Cause::exec_failed);
  EXPECT_EQ(verdict(job, {end_of(record_of(1, 0, SIGSEGV))}).cause, Cause::segfault);
}

TEST(Retry, UserFailuresAreNotRetriedUnlessAsked) {
  Job job = placed_job();
  apply(job, {}, verdict(job, {end_of(record_of(1, 1))}));
  EXPECT_TRUE(std::holds_alternative<Finished>(next_step(job, {})));
}

TEST(Retry, InfrastructureHasItsOwnBudget) {
  Job job = born(1, {}, Submitted{JobId("j"), spec_of()});
  RunTime now;
  for (int attempt = 1; attempt <= 6; ++attempt) {
    apply(job, {}, Placed{attempt, attempt, {{.node = NodeName("n")}}, 20'000});
    apply(job, {},
          verdict(job,
                  {{.node = 0, .record = std::nullopt, .loss = Cause::lost, .evidence = "gone"}}));
    const auto next = next_step(job, now);
    EXPECT_EQ(std::holds_alternative<Requeued>(next), attempt <= 5) << attempt;
    apply(job, {}, next);
  }
  EXPECT_EQ(job.spent.infrastructure, 5);
  EXPECT_EQ(job.spent.user, 0);
  EXPECT_EQ(job.state, JobState::failed);
  EXPECT_EQ(job.cause, Cause::lost);
}

TEST(Retry, BackOffDoublesAndEnds) {
  EXPECT_EQ(back_off(Budget::infrastructure, 0, {}), Duration(0));
  EXPECT_EQ(back_off(Budget::infrastructure, 1, {}), seconds(1));
  EXPECT_EQ(back_off(Budget::eviction, 4, {}), seconds(8));
  EXPECT_EQ(back_off(Budget::eviction, 400, {}), minutes(5));
  EXPECT_EQ(back_off(Budget::eviction, 400, minutes(6)), Duration(0));
  EXPECT_EQ(back_off(Budget::user, 0, {}), seconds(10));
  EXPECT_EQ(back_off(Budget::user, 2, {}), seconds(40));
}

TEST(Retry, ACancelledJobIsNotRetried) {
  Job job = placed_job();
  apply(job, {}, CancelRequested{"bob"});
  apply(job, {}, verdict(job, {{.node = 0, .record = std::nullopt, .loss = Cause::lost}}));
  const auto next = next_step(job, {});
  ASSERT_TRUE(std::holds_alternative<Finished>(next));
  EXPECT_EQ(std::get<Finished>(next).state, JobState::cancelled);
}

using ApplyDeath = ::testing::Test;

TEST(ApplyDeath, BrokenInvariantsAbort) {
  Job done = placed_job();
  apply(done, {}, verdict(done, {end_of(record_of(1))}));
  apply(done, {}, next_step(done, {}));
  EXPECT_DEATH(apply(done, {}, CancelRequested{"x"}), "final is final");
  Job live = placed_job();
  EXPECT_DEATH(apply(live, {}, Placed{2, 2, {}, 1}), "placed while");
  EXPECT_DEATH(apply(live, {}, Finished{JobState::failed, Cause::lost, 0, 0}), "attempt lives");
  Job ended = placed_job();
  apply(ended, {}, verdict(ended, {end_of(record_of(1, 1))}));
  EXPECT_DEATH(apply(ended, {}, Requeued{Budget::user, {}}), "overdraws");
}

}  // namespace
}  // namespace muster::lifecycle
