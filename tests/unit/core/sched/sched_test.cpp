#include <rapidcheck/gtest.h>

#include "core/sched/view.hpp"
#include "core/sched/why.hpp"
#include "support/builders.hpp"

namespace muster::sched {
namespace {

using test::node_of;

View view_of(std::vector<Node> nodes) { return with_inventory({std::move(nodes), {}}, {}); }

rc::Gen<Request> any_request() {
  return rc::gen::map(rc::gen::tuple(rc::gen::inRange(1, 5), rc::gen::inRange(1, 4),
                                     rc::gen::inRange(0, 5), rc::gen::inRange(1, 9)),
                      [](const auto& t) {
                        return Request{.nodes = std::get<0>(t),
                                       .procs_per_node = std::get<1>(t),
                                       .gpus_per_node = std::get<2>(t),
                                       .cpus_per_node = {std::get<3>(t) * 500}};
                      });
}

rc::Gen<std::vector<Node>> any_nodes() {
  return rc::gen::map(
      rc::gen::container<std::vector<std::pair<int, int>>>(
          rc::gen::pair(rc::gen::inRange(1, 9), rc::gen::inRange(0, 9))),
      [](const auto& sizes) {
        std::vector<Node> nodes;
        for (std::size_t i = 0; i < std::min<std::size_t>(sizes.size(), 8); ++i)
          nodes.push_back(node_of("n" + std::to_string(i), sizes[i].first, 16, sizes[i].second));
        return nodes;
      });
}

RC_GTEST_PROP(Sched, NeverOvercommitsAndGivesEverythingBack, ()) {
  const auto nodes = *any_nodes();
  View view = view_of(nodes);
  std::vector<std::vector<Placement>> held;
  for (int i = 0; i < 20; ++i) {
    if (auto placements = place(view, "local", *any_request())) {
      hold(view, "local", *placements);
      held.push_back(*placements);
    }
    for (const auto& node : view.nodes) {
      RC_ASSERT(node.cpus_free.count >= 0);
      RC_ASSERT(node.memory_free.count >= 0);
    }
  }
  for (const auto& placements : held) release(view, "local", placements);
  const View fresh = view_of(nodes);
  for (std::size_t i = 0; i < view.nodes.size(); ++i) {
    RC_ASSERT(view.nodes[i].cpus_free == fresh.nodes[i].cpus_free);
    RC_ASSERT(view.nodes[i].memory_free == fresh.nodes[i].memory_free);
    RC_ASSERT(view.nodes[i].gpus_free == fresh.nodes[i].gpus_free);
  }
}

RC_GTEST_PROP(Sched, AGangIsPlacedWholeOrNotAtAll, ()) {
  const View view = view_of(*any_nodes());
  const auto request = *any_request();
  const auto placements = place(view, "local", request);
  if (!placements) return;
  RC_ASSERT(std::ssize(*placements) == request.nodes);
  std::set<NodeName> names;
  int rank = 0;
  for (const auto& placement : *placements) {
    names.insert(placement.node);
    RC_ASSERT(placement.first_rank == rank);
    RC_ASSERT(std::ssize(placement.gpus) == request.gpus_per_node);
    rank += placement.ranks;
  }
  RC_ASSERT(std::ssize(names) == request.nodes);
}

RC_GTEST_PROP(Sched, AnotherNodeNeverHurts, ()) {
  auto nodes = *any_nodes();
  const auto request = *any_request();
  if (!place(view_of(nodes), "local", request)) return;
  nodes.push_back(node_of("more", 4, 16, 2));
  RC_ASSERT(place(view_of(nodes), "local", request).has_value());
}

RC_GTEST_PROP(Sched, EveryQueuedJobHasAReasonWithAFix, ()) {
  const View view = view_of(*any_nodes());
  Job job;
  job.cluster = "local";
  job.request = *any_request();
  job.not_before = {*rc::gen::inRange<std::int64_t>(0, 3)};
  const auto reasons = why_waiting({.view = view,
                                    .holders = {},
                                    .job = job,
                                    .ahead = *rc::gen::inRange(0, 3),
                                    .now = {{}, {1}}});
  RC_ASSERT(!reasons.empty());
  for (const auto& reason : reasons)
    RC_ASSERT(!reason.code.empty() && !reason.text.empty() && !reason.fix.empty());
}

TEST(Sched, MemoryIsTheShareByCpusUnlessAsked) {
  const auto node = node_of("a", 4, 16);
  EXPECT_EQ(memory_needed(node, {.cpus_per_node = {1000}}).count, 4LL << 30);
  EXPECT_EQ(memory_needed(node, {.memory_per_node = {5}}).count, 5);
}

TEST(Sched, TheFullestNodeThatFitsIsTaken) {
  View view = view_of({node_of("big", 8), node_of("small", 2)});
  EXPECT_EQ(place(view, "local", {.cpus_per_node = {1000}})->front().node.str(), "small");
}

TEST(Why, NamesWhatIsMissingAndWhoHoldsIt) {
  View view = view_of({node_of("a", 4, 16, 8)});
  const auto never = why_never(view, "local", {.gpus_per_node = 16});
  ASSERT_EQ(never.size(), 1U);
  EXPECT_EQ(never[0].code, "no_such_node");
  EXPECT_NE(never[0].text.find("8 gpu"), std::string::npos);
  EXPECT_EQ(why_never(view, "local", {.nodes = 2})[0].code, "too_few_nodes");
  EXPECT_EQ(why_never(view, "mars", {})[0].code, "no_nodes");

  const auto held = *place(view, "local", {.cpus_per_node = {4000}});
  hold(view, "local", held);
  Job job;
  job.cluster = "local";
  const std::vector<Holder> holders{
      {.job = JobId("bob_1_ab"), .user = "bob", .cluster = "local", .placements = held}};
  const auto reasons =
      why_waiting({.view = view, .holders = holders, .job = job, .ahead = 0, .now = {}});
  ASSERT_EQ(reasons.size(), 1U);
  EXPECT_EQ(reasons[0].code, "busy");
  EXPECT_NE(reasons[0].text.find("bob_1_ab"), std::string::npos);
}

TEST(Sched, ANodeThatShrankTakesNoMore) {
  const View before = view_of({node_of("a", 4)});
  const auto held = *place(before, "local", {.cpus_per_node = {4000}});
  const std::vector<Holder> holders{
      {.job = JobId("j"), .user = "u", .cluster = "local", .placements = held}};
  View after = with_inventory({{node_of("a", 2)}, {}}, holders);
  EXPECT_FALSE(place(after, "local", {.cpus_per_node = {500}}));
  release(after, "local", held);
  EXPECT_TRUE(place(after, "local", {.cpus_per_node = {2000}}));
  View gone = with_inventory({}, holders);
  EXPECT_FALSE(place(gone, "local", {.cpus_per_node = {500}}));
  release(gone, "local", held);
}

}  // namespace
}  // namespace muster::sched
