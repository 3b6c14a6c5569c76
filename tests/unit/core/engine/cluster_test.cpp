// A cluster that chooses its nodes itself: admitted by the engine, seated by the cluster.
#include "core/engine/engine.hpp"
#include "core/sched/why.hpp"
#include "support/builders.hpp"

namespace muster::engine {
namespace {

using test::node_of;
using test::record_of;
using test::spec_of;

JobSpec on_cluster(int nodes) {
  auto spec = spec_of();
  spec.cluster = "aks";
  spec.request = {.nodes = nodes, .procs_per_node = 2, .gpus_per_node = 8};
  return spec;
}

struct Cluster {
  Engine engine{Seedling{.id_key = 7}};
  Outbox out;

  Cluster() { step(InventorySeen{{{node_of("a", 2)}, {"aks"}}}); }
  void step(Input input) {
    const std::vector<Input> inbox{std::move(input)};
    out = engine.step({}, inbox);
  }
  AttemptRef submit(JobSpec spec) {
    step(SubmitJob{.ticket = 1, .spec = std::move(spec)});
    EXPECT_TRUE(out.replies.at(0).answer->warnings.empty());
    return {out.replies.at(0).answer->seq, out.replies.at(0).answer->id, 1};
  }
  void see(const AttemptRef& ref, int node, Sight sight, const char* where = "") {
    step(Seen{{ref, node, std::move(sight), NodeName(where)}});
  }
  int launches() const {
    return static_cast<int>(std::count_if(out.actions.begin(), out.actions.end(), [](auto& one) {
      return std::holds_alternative<Launch>(one);
    }));
  }
  template <class T>
  std::vector<T> events() const {
    std::vector<T> found;
    for (const auto& event : out.events)
      if (const auto* one = std::get_if<T>(&event.body)) found.push_back(*one);
    return found;
  }
};

TEST(SelfPlacing, NothingIsRefusedForWantOfNodes) {
  Cluster cluster;
  cluster.submit(on_cluster(64));
  ASSERT_EQ(cluster.launches(), 1);
  const auto placed = cluster.events<Placed>().at(0);
  ASSERT_EQ(placed.placements.size(), 64U);
  EXPECT_EQ(placed.placements[3].node, kOpenNode);
  EXPECT_EQ(placed.placements[3].first_rank, 6);
  EXPECT_EQ(placed.placements[3].gpus, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(placed.port, 29'500);
}

TEST(SelfPlacing, SeatsAreToldOnceAllAreKnown) {
  Cluster cluster;
  const auto ref = cluster.submit(on_cluster(2));
  const Alive preparing{.state = AttemptState::preparing};
  cluster.see(ref, 1, preparing, "vm-7");
  EXPECT_TRUE(cluster.events<Seated>().empty());
  cluster.see(ref, 0, preparing, "vm-3");
  ASSERT_EQ(cluster.events<Seated>().size(), 1U);
  EXPECT_EQ(cluster.events<Seated>()[0].nodes,
            (std::vector<NodeName>{NodeName("vm-3"), NodeName("vm-7")}));
  EXPECT_EQ(cluster.out.jobs.back().live->placements[1].node, NodeName("vm-7"));
  cluster.see(ref, 0, preparing, "vm-3");
  EXPECT_TRUE(cluster.out.events.empty()) << "the same seat is no news";
}

TEST(SelfPlacing, AnAttemptThatEndsTellsTheSeatsItHad) {
  Cluster cluster;
  const auto ref = cluster.submit(on_cluster(2));
  cluster.see(ref, 0, Ended{record_of(0, 3)}, "vm-3");
  cluster.see(ref, 1, Lost{.cause = Cause::never_started, .evidence = "no room"});
  ASSERT_EQ(cluster.events<Seated>().size(), 1U);
  EXPECT_EQ(cluster.events<Seated>()[0].nodes,
            (std::vector<NodeName>{NodeName("vm-3"), kOpenNode}));
}

TEST(SelfPlacing, GangsAreLetInOneAtATimeAndTheOthersSayWhoTheyWaitFor) {
  Cluster cluster;
  const auto first = cluster.submit(on_cluster(2));
  const auto second = cluster.submit(on_cluster(2));
  EXPECT_EQ(cluster.launches(), 0);
  Job waiting;
  for (const auto& job : cluster.out.jobs)
    if (job.seq == second.seq) waiting = job;
  const auto holders = cluster.engine.holders();
  const auto reasons = sched::why_waiting(
      {.view = cluster.engine.view(), .holders = holders, .job = waiting, .now = {}});
  ASSERT_FALSE(reasons.empty());
  EXPECT_EQ(reasons[0].code, "gang_turn");
  EXPECT_NE(reasons[0].text.find(first.job.str()), std::string::npos);
  cluster.see(first, 0, Alive{});
  EXPECT_EQ(cluster.launches(), 0) << "one of two pods runs";
  cluster.see(first, 1, Alive{});
  EXPECT_EQ(cluster.launches(), 1);
}

TEST(SelfPlacing, TheNextGangIsLetInWhenThisOneHasItsNodes) {
  Cluster cluster;
  const auto first = cluster.submit(on_cluster(2));
  cluster.submit(on_cluster(2));
  const Alive pulling{.state = AttemptState::preparing};
  cluster.see(first, 0, pulling, "vm-1");
  EXPECT_EQ(cluster.launches(), 0) << "it may have to give it back";
  cluster.see(first, 1, pulling, "vm-2");
  EXPECT_EQ(cluster.launches(), 1);
}

TEST(SelfPlacing, SingleNodesNeedNotWaitForEachOther) {
  Cluster cluster;
  for (int i = 0; i < 20; ++i) {
    cluster.submit(on_cluster(1));
    EXPECT_EQ(cluster.launches(), 1);
  }
}

TEST(SelfPlacing, WhatTheClusterSaysOfAPodIsKeptUntilItRuns) {
  Cluster cluster;
  const auto ref = cluster.submit(on_cluster(1));
  const Reason reason{"unschedulable", "0/3 nodes are available", "wait"};
  cluster.see(ref, 0, Alive{.state = AttemptState::preparing, .waits_for = reason});
  ASSERT_EQ(cluster.engine.waits_for().size(), 1U);
  EXPECT_EQ(cluster.engine.waits_for()[0].second.text, "0/3 nodes are available");
  EXPECT_TRUE(cluster.out.events.empty()) << "a reason is no event";
  cluster.see(ref, 0, Alive{}, "vm-1");
  EXPECT_TRUE(cluster.engine.waits_for().empty());
  cluster.see(ref, 0, Unreachable{"the API server does not answer"});
  ASSERT_EQ(cluster.engine.waits_for().size(), 1U);
  EXPECT_EQ(cluster.engine.waits_for()[0].second.code, "unreachable");
  EXPECT_TRUE(cluster.out.events.empty() && cluster.out.actions.empty());
}

TEST(SelfPlacing, AClusterThatLeftTheConfigurationKeepsItsAttempts) {
  Cluster cluster;
  const auto ref = cluster.submit(on_cluster(1));
  cluster.see(ref, 0, Alive{}, "vm-1");
  cluster.step(InventorySeen{{{node_of("a", 2)}, {}}});
  EXPECT_TRUE(cluster.out.actions.empty());
  cluster.see(ref, 0, Ended{record_of(0, 0)});
  EXPECT_EQ(cluster.out.jobs.back().state, JobState::succeeded);
}

}  // namespace
}  // namespace muster::engine
