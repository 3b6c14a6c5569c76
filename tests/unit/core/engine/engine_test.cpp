#include "core/engine/engine.hpp"

#include <csignal>

#include "support/builders.hpp"

namespace muster::engine {
namespace {

using std::chrono::seconds;
using test::node_of;
using test::record_of;
using test::spec_of;

/// An engine with a clock, and what it last said.
struct Bench {
  Engine engine{Seedling{.id_key = 7}};
  Now now;
  Outbox out;

  explicit Bench(std::vector<Node> nodes = {node_of("a", 2), node_of("b", 2)}) {
    step(InventorySeen{{std::move(nodes)}});
  }
  void step(Input input) {
    const std::vector<Input> inbox{std::move(input)};
    out = engine.step(now, inbox);
  }
  void tick() { out = engine.step(now, {}); }
  AttemptRef submit(JobSpec spec = spec_of()) {
    step(SubmitJob{.ticket = 1, .spec = std::move(spec)});
    const auto& answer = *out.replies.at(0).answer;
    return {answer.seq, answer.id, 1};
  }
  void see(const AttemptRef& ref, int node, Sight sight) {
    step(Seen{{ref, node, std::move(sight)}});
  }
  template <class T>
  std::vector<T> actions() const {
    std::vector<T> found;
    for (const auto& action : out.actions)
      if (const auto* one = std::get_if<T>(&action)) found.push_back(*one);
    return found;
  }
  JobState state() const { return out.jobs.back().state; }
};

JobSpec gang_of(int nodes) {
  auto spec = spec_of();
  spec.request = {.nodes = nodes, .procs_per_node = 1, .cpus_per_node = {2000}};
  return spec;
}

TEST(Engine, ASubmittedJobIsPlacedAndLaunchedInTheSameStep) {
  Bench bench;
  bench.submit();
  ASSERT_EQ(bench.actions<Launch>().size(), 1U);
  EXPECT_EQ(bench.out.events.size(), 2U);
  EXPECT_EQ(bench.state(), JobState::starting);
}

TEST(Engine, IdsAreUserEpochAndEightHexDigits) {
  Bench bench;
  auto spec = spec_of();
  spec.user = "Ann Müller";
  bench.now.wall = {1'700'000'000'000'000};
  const auto ref = bench.submit(spec);
  EXPECT_TRUE(ref.job.str().starts_with("ann-m--ller_1700000000_")) << ref.job.str();
  EXPECT_EQ(ref.job.str().size(), std::string("ann-m--ller_1700000000_").size() + 8);
}

TEST(Engine, FifoWithinPriorityAndNobodyOvertakesTheHead) {
  Bench bench({node_of("a", 2)});
  const auto first = bench.submit(gang_of(1));
  auto large = spec_of();
  large.request.cpus_per_node = {2000};
  bench.submit(large);
  bench.submit();  // would fit behind, but the head waits for the whole node
  EXPECT_TRUE(bench.actions<Launch>().empty());
  auto urgent = spec_of();
  urgent.priority = 5;
  const auto ref = bench.submit(urgent);
  bench.see(first, 0, Ended{record_of(1)});
  ASSERT_EQ(bench.actions<Launch>().size(), 1U);
  EXPECT_EQ(bench.actions<Launch>()[0].ref.seq, ref.seq);
}

TEST(Engine, AJobThatCanNeverFitDoesNotBlockOthersAndSaysSo) {
  Bench bench;
  auto huge = spec_of();
  huge.request.gpus_per_node = 8;
  bench.step(SubmitJob{.ticket = 1, .spec = huge});
  EXPECT_EQ(bench.out.replies.at(0).answer->warnings.at(0).code, "no_such_node");
  bench.submit();
  EXPECT_EQ(bench.actions<Launch>().size(), 1U);
  bench.step(InventorySeen{{{node_of("g", 8, 64, 8)}}});
  EXPECT_EQ(bench.actions<Launch>().size(), 1U);
}

TEST(Engine, OneKeyOneJob) {
  Bench bench;
  auto spec = spec_of();
  spec.key = "k";
  spec.request_hash = "h";
  const auto first = bench.submit(spec);
  bench.step(SubmitJob{.ticket = 2, .spec = spec});
  EXPECT_EQ(bench.out.replies.at(0).answer->id, first.job);
  EXPECT_TRUE(bench.out.replies.at(0).answer->existed);
  EXPECT_TRUE(bench.out.events.empty());
  spec.request_hash = "other";
  bench.step(SubmitJob{.ticket = 3, .spec = spec});
  EXPECT_EQ(bench.out.replies.at(0).answer.error().kind, Kind::conflict);
  bench.step(
      SubmitJob{.ticket = 4, .spec = spec, .known = KnownKey{first.seq, first.job, "other"}});
}

TEST(Engine, AGangStopsWhenOneOfItFails) {
  Bench bench;
  const auto ref = bench.submit(gang_of(2));
  bench.see(ref, 0, Alive{});
  bench.see(ref, 1, Alive{});
  EXPECT_EQ(bench.state(), JobState::running);
  auto failed = record_of(1, 5);
  bench.see(ref, 1, Ended{failed});
  ASSERT_EQ(bench.actions<Stop>().size(), 1U);
  EXPECT_EQ(bench.actions<Stop>()[0].why, "gang");
  EXPECT_EQ(bench.state(), JobState::stopping);
  auto killed = record_of(1, 0, SIGTERM);
  killed.killed_by = "gang";
  killed.ranks[0].ended_run_us = 99;
  bench.see(ref, 0, Ended{killed});
  EXPECT_EQ(bench.state(), JobState::failed);
  EXPECT_EQ(bench.out.jobs.back().exit_code, 5);
}

TEST(Engine, AFailedRankStopsTheGangBeforeItsNodeHasEnded) {
  Bench bench;
  const auto ref = bench.submit(gang_of(2));
  bench.see(ref, 0, Alive{.state = AttemptState::running, .failed_rank = 0});
  EXPECT_EQ(bench.actions<Stop>().size(), 1U);
}

TEST(Engine, CancelBeforeStartAndWhileRunning) {
  Bench bench({node_of("a", 1)});
  const auto first = bench.submit();
  const auto second = bench.submit();
  bench.step(AbortJob{.ticket = 5, .seq = second.seq, .by = "bob"});
  EXPECT_EQ(bench.state(), JobState::cancelled);
  EXPECT_TRUE(bench.actions<Stop>().empty());
  bench.step(AbortJob{.ticket = 6, .seq = first.seq, .by = "bob"});
  EXPECT_EQ(bench.state(), JobState::stopping);
  EXPECT_EQ(bench.actions<Stop>().size(), 1U);
  bench.step(AbortJob{.ticket = 7, .seq = first.seq, .by = "bob"});  // again: harmless
  EXPECT_TRUE(bench.out.events.empty());
  auto record = record_of(1, 0, SIGTERM);
  record.killed_by = "abort";
  bench.see(first, 0, Ended{record});
  EXPECT_EQ(bench.state(), JobState::cancelled);
  bench.step(AbortJob{.ticket = 8, .seq = first.seq, .by = "bob"});
  EXPECT_TRUE(bench.out.replies.at(0).answer.has_value());
}

TEST(Engine, ALostAttemptIsRetriedOnTheInfrastructureBudget) {
  Bench bench;
  auto ref = bench.submit();
  bench.see(ref, 0, Lost{Cause::lost, "gone"});
  ASSERT_EQ(bench.actions<Launch>().size(), 1U);  // at once
  EXPECT_EQ(bench.actions<Launch>()[0].ref.attempt, 2);
  ref.attempt = 2;
  bench.see(ref, 0, Lost{Cause::lost, "gone"});
  EXPECT_TRUE(bench.actions<Launch>().empty());
  ASSERT_TRUE(bench.out.wake.has_value());
  bench.now.run = *bench.out.wake;
  bench.tick();
  EXPECT_EQ(bench.actions<Launch>().at(0).ref.attempt, 3);
}

TEST(Engine, LateAndRepeatedSightsChangeNothing) {
  Bench bench;
  const auto ref = bench.submit();
  bench.see(ref, 0, Alive{});
  bench.see(ref, 0, NotStarted{});
  EXPECT_TRUE(bench.actions<Launch>().empty());
  bench.see(ref, 0, Ended{record_of(1)});
  EXPECT_EQ(bench.state(), JobState::succeeded);
  bench.see(ref, 0, Ended{record_of(1, 9)});
  EXPECT_TRUE(bench.out.events.empty());
  EXPECT_EQ(bench.actions<Acknowledge>().size(), 1U);
  bench.see(ref, 0, Alive{});  // an epoch that is over must not live
  EXPECT_EQ(bench.actions<Stop>().size(), 1U);
  EXPECT_TRUE(bench.out.events.empty());
}

TEST(Engine, UnreachableIsNotFailed) {
  Bench bench;
  const auto ref = bench.submit();
  bench.see(ref, 0, Unreachable{"no answer"});
  EXPECT_TRUE(bench.out.events.empty());
  EXPECT_TRUE(bench.out.actions.empty());
}

TEST(Engine, ALaunchThatLeftNoTraceIsRepeatedAFewTimes) {
  Bench bench;
  const auto ref = bench.submit();
  for (int i = 0; i < 4; ++i) {
    bench.see(ref, 0, NotStarted{});
    EXPECT_EQ(bench.actions<Launch>().size(), 1U);
  }
  bench.see(ref, 0, NotStarted{});
  ASSERT_EQ(bench.actions<Stop>().size(), 1U);
  EXPECT_TRUE(bench.actions<Stop>()[0].why.starts_with("never_started"));
}

TEST(Engine, ATakenPortMovesTheLease) {
  Bench bench;
  const auto ref = bench.submit();
  const int port = bench.actions<Launch>().at(0).port;
  bench.see(ref, 0, PortTaken{port});
  ASSERT_EQ(bench.actions<Launch>().size(), 1U);
  EXPECT_NE(bench.actions<Launch>()[0].port, port);
}

TEST(Engine, LivePortsAreNeverLeasedTwice) {
  Bench bench({node_of("a", 64)});
  std::set<int> ports;
  for (int i = 0; i < 64; ++i) {
    bench.submit();
    EXPECT_TRUE(ports.insert(bench.actions<Launch>().at(0).port).second);
  }
}

TEST(Engine, ARestartGoesOnWhereTheStoreLeftOff) {
  Bench bench;
  const auto ref = bench.submit(gang_of(2));
  std::vector<Job> rows = bench.out.jobs;
  Engine again(Seedling{.jobs = rows, .last_seq = 1, .last_event = 2, .id_key = 7});
  EXPECT_EQ(again.live_attempts().size(), 1U);
  EXPECT_EQ(again.nodes_of(ref), 2);
  const std::vector<Input> inbox{InventorySeen{{{node_of("a", 2), node_of("b", 2)}}},
                                 Seen{{ref, 0, NotStarted{}}}, Seen{{ref, 1, Alive{}}}};
  const auto out = again.step({}, inbox);
  ASSERT_EQ(out.actions.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<Launch>(out.actions[0]));
}

}  // namespace
}  // namespace muster::engine
