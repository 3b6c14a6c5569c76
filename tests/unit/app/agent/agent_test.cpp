#include <arpa/inet.h>
#include <rapidcheck/gtest.h>

#include "app/agent/addresses.hpp"
#include "app/agent/barrier.hpp"
#include "app/agent/pod_plan.hpp"
#include "app/agent/record.hpp"
#include "app/agent/short_record.hpp"
#include "core/model/codec.hpp"
#include "core/model/json.hpp"
#include "core/plan/plan.hpp"

namespace muster::agent {
namespace {

RankExit rank_of(int rank, int exit, int signal, std::int64_t at) {
  return {.rank = rank,
          .exit = exit,
          .signal = signal,
          .started = {1},
          .ended = {2},
          .ended_run_us = at,
          .cpu_us = 123'456,
          .peak_bytes = 99'999'999,
          .oom_kills = 0,
          .out_bytes = 1'234'567,
          .err_bytes = 7,
          .out_xxh3 = "0123456789abcdef",
          .err_xxh3 = "0123456789abcdef"};
}

TEST(ShortRecord, ASmallOneIsExitJsonItself) {
  const ExitRecord record{.ranks = {rank_of(0, 3, 0, 5)}, .killed_by = "", .why = "w"};
  const auto back = decode_exit_record(short_record(record, 2, 7));
  ASSERT_TRUE(back);
  EXPECT_EQ(encode(*back), encode(record));
}

TEST(ShortRecord, OfSixtyFourRanksItKeepsEveryEnd) {
  ExitRecord record{.ranks = {}, .killed_by = "time_limit", .why = {}};
  for (int i = 0; i < 64; ++i) record.ranks.push_back(rank_of(i, 0, 15, 1000 - i));
  const auto text = short_record(record, 2, 7);
  EXPECT_LE(text.size(), kTerminationMessage);
  const auto back = decode_exit_record(text);
  ASSERT_TRUE(back);
  ASSERT_EQ(back->ranks.size(), 64U);
  EXPECT_EQ(back->ranks.front().rank, 63) << "the first failure stands first";
  for (const auto& rank : back->ranks) EXPECT_EQ(rank.signal, 15);
  EXPECT_EQ(back->killed_by, "time_limit");
}

RC_GTEST_PROP(ShortRecord, FitsIsWholeAndNamesTheFirstFailure, ()) {
  ExitRecord record;
  const int ranks = *rc::gen::inRange(1, 300);
  for (int i = 0; i < ranks; ++i)
    record.ranks.push_back(
        rank_of(i, *rc::gen::element(0, 0, 1, 137), 0, 1000 + (i * 7919) % 1000));
  record.killed_by = *rc::gen::arbitrary<std::string>();
  const char letter = *rc::gen::element('w', '\1', '\xff');
  record.why = std::string(static_cast<std::size_t>(*rc::gen::inRange(0, 5000)), letter);
  record.killed_by += std::string(static_cast<std::size_t>(*rc::gen::inRange(0, 5000)), letter);
  const auto text = short_record(record, 1, 1);
  RC_ASSERT(text.size() <= kTerminationMessage);
  const auto back = decode_exit_record(text);
  RC_ASSERT(back.has_value());
  RC_ASSERT(!back->ranks.empty());
  RC_ASSERT(exit_code_of(*back) == exit_code_of(record));
}

TEST(ShortRecord, OfNothingStartedItSaysWhy) {
  const ExitRecord record{
      .ranks = {}, .killed_by = "setup_failed: " + std::string(9000, '\1'), .why = "never"};
  const auto text = short_record(record, 1, 1);
  EXPECT_LE(text.size(), kTerminationMessage);
  EXPECT_TRUE(decode_exit_record(text).value().killed_by.starts_with("setup_failed: "));
}

TEST(ExitCode, IsThatOfTheRankThatFailedFirst) {
  EXPECT_EQ(exit_code_of({.ranks = {rank_of(0, 0, 0, 1), rank_of(1, 0, 0, 2)}}), 0);
  EXPECT_EQ(exit_code_of({.ranks = {rank_of(0, 5, 0, 9), rank_of(1, 3, 0, 2)}}), 3);
  EXPECT_EQ(exit_code_of({.ranks = {rank_of(0, 0, 9, 9)}}), 137);
  EXPECT_EQ(exit_code_of({.ranks = {rank_of(0, 0, 0, 9)}, .killed_by = "shutdown"}), 143);
  EXPECT_EQ(exit_code_of({.ranks = {}, .killed_by = "shutdown"}), 143);
  EXPECT_EQ(exit_code_of({.ranks = {}, .killed_by = "barrier_timeout: missing"}), 125);
}

TEST(PodPlan, ThePlanStandsAboveTheImageButForAPathNobodyAskedFor) {
  const Environment image{{"PATH", "/opt/conda/bin"}, {"A", "image"}, {"B", "image"}};
  const auto usual = std::string(plan::kUsualPath) + ":/tools";
  EXPECT_EQ(over_image({{"PATH", usual}, {"A", "plan"}}, image),
            (Environment{{"PATH", "/opt/conda/bin:/tools"}, {"A", "plan"}, {"B", "image"}}));
  EXPECT_EQ(over_image({{"PATH", "/mine"}}, image).at("PATH"), "/mine");
  EXPECT_EQ(over_image({{"PATH", usual}}, {}).at("PATH"), usual);
}

TEST(PodPlan, ANodeThatIsNotThereIsRefused) {
  Plan plan;
  plan.nodes = {{.index = 0, .placement = {}, .ranks = {{.rank = 0}}}};
  EXPECT_FALSE(order_for_pod(plan, 1, {}, {}));
  const auto order = order_for_pod(plan, 0, {{"MUSTER_NODE", "n7"}}, {});
  ASSERT_TRUE(order);
  EXPECT_EQ(order->plan.nodes.front().ranks.front().env.at("MUSTER_NODE"), "n7");
  EXPECT_EQ(order->plan.folder.trees, "/muster/trees");
}

std::string text_of(const Address& address) {
  char text[INET6_ADDRSTRLEN];
  return ::inet_ntop(AF_INET6, &address, text, sizeof text);
}

TEST(Addresses, OfAHostsFile) {
  const auto hosts =
      "127.0.0.1 localhost\n# 9.9.9.9 a\n10.0.0.1\ta.b  a #a\nfd00::1 a\nnoise a\n\n";
  const auto found = addresses_in_hosts(hosts, "a");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(text_of(found[0]), "::ffff:10.0.0.1");
  EXPECT_EQ(text_of(found[1]), "fd00::1");
  EXPECT_TRUE(addresses_in_hosts(hosts, "").empty());
  EXPECT_TRUE(addresses_in_hosts(hosts, "b").empty());
}

TEST(Barrier, NamesTheRanksOfMissingNodes) {
  std::vector<NodePlan> nodes;
  for (int i = 0; i < 3; ++i)
    nodes.push_back({.index = i, .placement = {}, .ranks = {{.rank = 2 * i}, {.rank = 2 * i + 1}}});
  nodes.push_back({.index = 3, .placement = {}, .ranks = {{.rank = 6}}});
  EXPECT_EQ(missing_text(nodes, {1, 3}), "2-3 (index 1), 6 (index 3)");
}

}  // namespace
}  // namespace muster::agent
