// What every Backend promises, asked of each of them: real processes, virtual ones, and the kinds
// that this build does not have.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <mutex>
#include <ostream>

#include "contract/backends/stage.hpp"

namespace muster {

/// How a failing test names its backend.
void PrintTo(const BackendKind& kind, std::ostream* out);
void PrintTo(const BackendKind& kind, std::ostream* out) { *out << kind.name; }

}  // namespace muster

namespace muster::contract {

std::vector<Node> stage_nodes() {
  const Node first{
      .name = NodeName("node-0"), .cpus = {4000}, .memory = {std::int64_t{8} << 30}, .gpus = 0};
  Node second = first;
  second.name = NodeName("node-1");
  return {first, second};
}

namespace {

using namespace std::chrono_literals;

using StageOf = std::unique_ptr<Stage> (*)(const BackendKind&);
const std::map<std::string_view, StageOf> kStages{{"local", local_stage}, {"sim", sim_stage}};

class Backends : public ::testing::TestWithParam<BackendKind> {
 protected:
  void SetUp() override {
    const auto& kind = GetParam();
    if (!kind.absent.empty()) GTEST_SKIP() << kind.name << ": " << kind.absent;
    if (kind.name == "kube")
      GTEST_SKIP() << "kube: needs a cluster; tests/kube/test_jobs.py asks it of a real one";
    const auto found = kStages.find(kind.name);
    ASSERT_NE(found, kStages.end()) << "write tests/contract/backends/" << kind.name << ".cpp";
    stage = found->second(kind);
    listen();
  }

  /// Nothing is left behind: what still lives is stopped, every end is acknowledged.
  void TearDown() override {
    for (const auto& plan : launched) {
      const int nodes = static_cast<int>(plan.nodes.size());
      must(Stop{plan.ref, nodes, "abort", 0s});
      for (int node = 0; node < nodes; ++node) {
        (void)ended(plan, node);
        must(Acknowledge{plan.ref, node});
      }
    }
    stage.reset();
  }

  /// Hints may come from any thread.
  void listen() {
    stage->backend().on_change([this](const std::vector<AttemptRef>& refs) {
      const std::lock_guard guard(mutex);
      for (const auto& ref : refs) ++hints[ref];
    });
  }
  int hints_of(const AttemptRef& ref) {
    const std::lock_guard guard(mutex);
    return hints[ref];
  }

  /// A plan for this part, its ranks counted through.
  Plan plan_of(Part part, int nodes = 1, int ranks = 1) {
    Plan plan{.ref = {++last_seq, JobId(fmt::format("ann_1_{:08x}", last_seq)), 1}, .epoch = 1};
    plan.argv = stage->command(part);
    plan.dir = "/";
    plan.env = {{"PATH", "/usr/bin:/bin"}};
    plan.grace = 10s;
    const auto names = stage_nodes();
    for (int node = 0; node < nodes; ++node) {
      NodePlan one{.index = node};
      one.placement = {.node = names.at(static_cast<std::size_t>(node)).name,
                       .first_rank = node * ranks,
                       .ranks = ranks,
                       .cpus = {1000}};
      for (int i = 0; i < ranks; ++i)
        one.ranks.push_back({.rank = node * ranks + i, .local_rank = i, .env = {}});
      plan.nodes.push_back(std::move(one));
    }
    return plan;
  }

  void must(const Action& action) {
    const auto done = stage->backend().perform(action);
    EXPECT_TRUE(done) << to_text(done.error());
  }
  void launch(const Plan& plan) {
    Launch action{.ref = plan.ref, .port = 0, .plan = std::make_shared<const Plan>(plan)};
    for (const auto& node : plan.nodes) action.placements.push_back(node.placement);
    launched.push_back(plan);
    must(action);
  }
  void stop(const Plan& plan, Duration grace, const std::string& why = "abort") {
    must(Stop{plan.ref, static_cast<int>(plan.nodes.size()), why, grace});
  }

  Sight sight(const Plan& plan, int node = 0) {
    const Watched watched[] = {{plan.ref, static_cast<int>(plan.nodes.size())}};
    const auto seen = stage->backend().observe(watched);
    if (!seen) return Unreachable{to_line(seen.error())};
    EXPECT_EQ(seen->size(), plan.nodes.size()) << "every node of the attempt, once";
    for (const auto& one : *seen)
      if (one.node == node && one.ref == plan.ref) return one.sight;
    return Unreachable{"not observed"};
  }
  template <class Is>
  bool eventually(Is is) {
    for (int i = 0; i < 15'000; ++i) {
      if (is()) return true;
      stage->wait();
    }
    return false;
  }
  bool is_running(const Plan& plan, int node = 0) {
    const auto now = sight(plan, node);
    const auto* alive = std::get_if<Alive>(&now);
    return alive != nullptr && alive->state == AttemptState::running;
  }
  /// Every rank of it runs and behaves as asked.
  void run(const Plan& plan) {
    launch(plan);
    for (int node = 0; node < std::ssize(plan.nodes); ++node)
      ASSERT_TRUE(eventually([&] { return is_running(plan, node); })) << "node " << node;
    ASSERT_TRUE(eventually([&] { return stage->starts(plan.ref) > 0; }));
  }
  ExitRecord ended(const Plan& plan, int node = 0) {
    ExitRecord record;
    const bool has_ended = eventually([&] {
      const auto now = sight(plan, node);
      const auto* end = std::get_if<Ended>(&now);
      if (end != nullptr) record = end->record;
      return end != nullptr;
    });
    EXPECT_TRUE(has_ended) << "sight " << sight(plan, node).index();
    return record;
  }

  std::unique_ptr<Stage> stage;
  std::mutex mutex;
  std::map<AttemptRef, int> hints;
  std::vector<Plan> launched;
  JobSeq last_seq = 0;
};

INSTANTIATE_TEST_SUITE_P(Every, Backends, ::testing::ValuesIn(all_backends()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(BackendKinds, EveryKindHasANameAndADocAndOnesThatAreAbsentSayWhy) {
  ASSERT_FALSE(all_backends().empty());
  NoLog log;
  for (const auto& kind : all_backends()) {
    SCOPED_TRACE(kind.name);
    EXPECT_FALSE(kind.name.empty());
    EXPECT_FALSE(kind.doc.empty());
    ASSERT_NE(kind.open, nullptr);
    if (kind.absent.empty()) continue;
    const auto opened = kind.open({.nodes = stage_nodes(), .log = log});
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().what, kind.absent);
    EXPECT_FALSE(opened.error().fix.empty()) << "say what to use instead";
  }
}

TEST_P(Backends, TheInventoryIsThereAndStaysTheSame) {
  const auto first = stage->backend().inventory();
  ASSERT_TRUE(first) << to_text(first.error());
  EXPECT_EQ(first->nodes, stage_nodes());
  const auto second = stage->backend().inventory();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->nodes, first->nodes);
}

TEST_P(Backends, AnAttemptThatWasNeverLaunchedHasNotStarted) {
  const auto plan = plan_of(Part::exits_0, 2, 2);
  for (int node = 0; node < 2; ++node)
    EXPECT_TRUE(std::holds_alternative<NotStarted>(sight(plan, node)));
  stage->wait();
  EXPECT_TRUE(std::holds_alternative<NotStarted>(sight(plan))) << "looking starts nothing";
}

TEST_P(Backends, ALaunchIsSeenAtOnceThenRunningThenEnded) {
  const auto plan = plan_of(Part::runs_until_stopped);
  launch(plan);
  EXPECT_FALSE(std::holds_alternative<NotStarted>(sight(plan))) << "it would be launched again";
  ASSERT_TRUE(eventually([&] { return is_running(plan); }));
  stop(plan, 10s);
  EXPECT_EQ(ended(plan).ranks.size(), 1U);
}

TEST_P(Backends, TheRecordHasTheExitCode) {
  const auto good = plan_of(Part::exits_0), bad = plan_of(Part::exits_3);
  launch(good);
  launch(bad);
  const auto zero = ended(good), three = ended(bad);
  ASSERT_EQ(zero.ranks.size(), 1U);
  ASSERT_EQ(three.ranks.size(), 1U);
  EXPECT_FALSE(zero.ranks[0].failed());
  EXPECT_EQ(three.ranks[0].exit, 3);
  EXPECT_EQ(three.ranks[0].signal, 0);
  EXPECT_EQ(three.killed_by, "");
}

TEST_P(Backends, AGangHasARecordOnEachNodeWithItsRanks) {
  const auto plan = plan_of(Part::exits_0, 2, 2);
  launch(plan);
  for (int node = 0; node < 2; ++node) {
    const auto record = ended(plan, node);
    ASSERT_EQ(record.ranks.size(), 2U) << "node " << node;
    EXPECT_EQ(record.ranks[0].rank, node * 2);
    EXPECT_EQ(record.ranks[1].rank, node * 2 + 1);
    for (const auto& rank : record.ranks) EXPECT_FALSE(rank.failed());
  }
}

TEST_P(Backends, TheFirstOfAGangThatFailsKeepsItsCode) {
  const auto plan = plan_of(Part::exits_3, 2, 2);
  launch(plan);
  for (int node = 0; node < 2; ++node) {
    auto ranks = ended(plan, node).ranks;
    ASSERT_EQ(ranks.size(), 2U) << "node " << node;
    const auto sooner = [](const auto& a, const auto& b) {
      return a.ended_run_us < b.ended_run_us;
    };
    std::stable_sort(ranks.begin(), ranks.end(), sooner);
    EXPECT_EQ(ranks[0].exit, 3);
    // A rank that failed takes the others of its node along.
    EXPECT_TRUE(ranks[1].exit == 3 || ranks[1].signal == SIGTERM);
  }
}

TEST_P(Backends, AGangIsStoppedOnAllItsNodes) {
  const auto plan = plan_of(Part::runs_until_stopped, 2, 2);
  run(plan);
  stop(plan, 10s, "gang");
  for (int node = 0; node < 2; ++node) {
    const auto record = ended(plan, node);
    EXPECT_EQ(record.killed_by, "gang");
    ASSERT_EQ(record.ranks.size(), 2U);
    for (const auto& rank : record.ranks) EXPECT_EQ(rank.signal, SIGTERM);
  }
}

TEST_P(Backends, AStopIsATermFirst) {
  const auto plan = plan_of(Part::runs_until_stopped);
  run(plan);
  stop(plan, 10s);
  const auto record = ended(plan);
  EXPECT_EQ(record.killed_by, "abort");
  ASSERT_EQ(record.ranks.size(), 1U);
  EXPECT_EQ(record.ranks[0].signal, SIGTERM);
}

TEST_P(Backends, WhoIgnoresTheTermIsKilledAfterTheGrace) {
  const auto plan = plan_of(Part::ignores_term);
  run(plan);
  stop(plan, 50ms);
  const auto record = ended(plan);
  EXPECT_EQ(record.killed_by, "abort");
  ASSERT_EQ(record.ranks.size(), 1U);
  EXPECT_EQ(record.ranks[0].signal, SIGKILL);
}

TEST_P(Backends, AStopBeforeTheLaunchLeavesARecordWithoutRanksAndALaterLaunchDoesNotRun) {
  const auto plan = plan_of(Part::exits_0, 2);
  stop(plan, 10s);
  for (int node = 0; node < 2; ++node) {
    const auto record = ended(plan, node);
    EXPECT_TRUE(record.ranks.empty());
    EXPECT_EQ(record.killed_by, "abort");
  }
  launch(plan);
  for (int i = 0; i < 50; ++i) stage->wait();
  for (int node = 0; node < 2; ++node) EXPECT_TRUE(ended(plan, node).ranks.empty());
  EXPECT_EQ(stage->starts(plan.ref), 0);
}

TEST_P(Backends, EveryActionDoneTwiceIsAsIfDoneOnce) {
  const auto plan = plan_of(Part::runs_until_stopped);
  launch(plan);
  run(plan);
  for (int i = 0; i < 2; ++i) must(Signal{plan.ref, 1, SIGCONT});
  EXPECT_TRUE(is_running(plan));
  EXPECT_EQ(stage->starts(plan.ref), 1);
  stop(plan, 10s, "abort");
  stop(plan, 10s, "gang");
  const auto record = ended(plan);
  EXPECT_EQ(record.killed_by, "abort") << "the first one ended it";
  ASSERT_EQ(record.ranks.size(), 1U);
  for (int i = 0; i < 2; ++i) must(Acknowledge{plan.ref, 0});
  EXPECT_EQ(ended(plan).ranks.size(), 1U);
  EXPECT_EQ(stage->starts(plan.ref), 1);
}

TEST_P(Backends, WhatHasEndedStaysEndedWhateverIsAskedAgain) {
  const auto plan = plan_of(Part::exits_3);
  launch(plan);
  (void)ended(plan);
  must(Acknowledge{plan.ref, 0});
  launch(plan);
  stop(plan, 0s);
  must(Signal{plan.ref, 1, SIGTERM});
  for (int i = 0; i < 50; ++i) stage->wait();
  const auto record = ended(plan);
  ASSERT_EQ(record.ranks.size(), 1U);
  EXPECT_EQ(record.ranks[0].exit, 3);
  EXPECT_EQ(record.killed_by, "");
  EXPECT_EQ(stage->starts(plan.ref), 1);
}

TEST_P(Backends, EveryChangeIsHinted) {
  const auto plan = plan_of(Part::runs_until_stopped);
  run(plan);
  ASSERT_TRUE(eventually([&] { return hints_of(plan.ref) > 0; })) << "it runs";
  const int before = hints_of(plan.ref);
  stop(plan, 10s);
  (void)ended(plan);
  EXPECT_TRUE(eventually([&] { return hints_of(plan.ref) > before; })) << "it ended";
  const auto stopped = plan_of(Part::exits_0);
  stop(stopped, 0s);
  EXPECT_TRUE(eventually([&] { return hints_of(stopped.ref) > 0; })) << "it will never start";
  (void)ended(stopped);
}

TEST_P(Backends, AnAttemptIsFoundAgainByTheNextServer) {
  const auto plan = plan_of(Part::runs_until_stopped), short_one = plan_of(Part::exits_3);
  run(plan);
  launch(short_one);
  const auto before = ended(short_one);
  if (!stage->reopen()) GTEST_SKIP() << GetParam().name << " lives in one object";
  listen();
  EXPECT_FALSE(std::holds_alternative<NotStarted>(sight(plan)));
  ASSERT_TRUE(eventually([&] { return is_running(plan); }));
  EXPECT_EQ(stage->starts(plan.ref), 1) << "it was not disturbed";
  const auto after = ended(short_one);
  ASSERT_EQ(after.ranks.size(), 1U);
  EXPECT_EQ(after.ranks[0].ended, before.ranks.at(0).ended);
  stop(plan, 10s);
  EXPECT_EQ(ended(plan).ranks.at(0).signal, SIGTERM);
  EXPECT_TRUE(eventually([&] { return hints_of(plan.ref) > 0; }));
}

}  // namespace
}  // namespace muster::contract
