#include "core/plan/plan.hpp"

#include "support/builders.hpp"

namespace muster::plan {
namespace {

using test::spec_of;

Plan plan_of(const JobSpec& spec, Environment env = {}, std::vector<int> gpus = {}) {
  std::vector<Placement> placements;
  for (int node = 0; node < spec.request.nodes; ++node)
    placements.push_back({.node = NodeName("n" + std::to_string(node)),
                          .first_rank = node * spec.request.procs_per_node,
                          .ranks = spec.request.procs_per_node,
                          .cpus = spec.request.cpus_per_node,
                          .gpus = gpus});
  const Launch launch{{3, JobId("ann_1_00000003"), 2}, placements, 20'123, nullptr};
  return make_plan(spec, launch, 2,
                   {.env = std::move(env),
                    .home_id = "h",
                    .master_addr = "127.0.0.1",
                    .job_dir = "/home/jobs/x",
                    .tools_dir = "/home/bin/tools",
                    .resume_from = "/home/jobs/x/checkpoint/7",
                    .previous = Cause::lost});
}

TEST(Plan, EveryRankHasTheTorchFamily) {
  auto spec = spec_of();
  spec.request = {.nodes = 2, .procs_per_node = 2, .cpus_per_node = {4000}};
  const auto plan = plan_of(spec);
  EXPECT_EQ(plan.env.at("WORLD_SIZE"), "4");
  EXPECT_EQ(plan.env.at("LOCAL_WORLD_SIZE"), "2");
  EXPECT_EQ(plan.env.at("MASTER_ADDR"), "127.0.0.1");
  EXPECT_EQ(plan.env.at("MASTER_PORT"), "20123");
  const auto& last = plan.nodes.at(1).ranks.at(1).env;
  EXPECT_EQ(last.at("RANK"), "3");
  EXPECT_EQ(last.at("LOCAL_RANK"), "1");
  EXPECT_EQ(last.at("NODE_RANK"), "1");
}

TEST(Plan, ThreadsAreCoresOverProcessesAndTheUserWins) {
  auto spec = spec_of();
  spec.request = {.procs_per_node = 2, .cpus_per_node = {8000}};
  EXPECT_EQ(plan_of(spec).env.at("OMP_NUM_THREADS"), "4");
  EXPECT_EQ(plan_of(spec, {{"OMP_NUM_THREADS", "1"}}).env.at("OMP_NUM_THREADS"), "1");
  spec.dataloader_workers = 4;
  EXPECT_EQ(plan_of(spec).env.at("MKL_NUM_THREADS"), "1");
  EXPECT_EQ(threads_per_process({500}, 1, 0), 1);
}

TEST(Plan, GpusAreShownOrHidden) {
  EXPECT_EQ(plan_of(spec_of()).nodes[0].ranks[0].env.at("CUDA_VISIBLE_DEVICES"), "-1");
  EXPECT_EQ(plan_of(spec_of(), {}, {1, 3}).nodes[0].ranks[0].env.at("CUDA_VISIBLE_DEVICES"), "1,3");
}

TEST(Plan, PrestepsRunBeforeTheCommandInOrder) {
  EXPECT_EQ(plan_of(spec_of({"a", "b"})).argv, (std::vector<std::string>{"a", "b"}));
  const auto plan =
      plan_of(spec_of({"a", "b"}), {{"AMLARC_PRESTEP", "x"}, {"MUSTER_PRESTEP", "y"}});
  ASSERT_EQ(plan.argv.size(), 6U);
  EXPECT_EQ(
      plan.argv[2],
      "eval \"$MUSTER_PRESTEP\" || exit $?\neval \"$AMLARC_PRESTEP\" || exit $?\nexec \"$@\"");
  EXPECT_EQ(plan.argv[5], "b");
}

TEST(Plan, ARestartIsToldWhereToResume) {
  const auto plan = plan_of(spec_of());
  EXPECT_EQ(plan.env.at("MUSTER_RESUME_FROM"), "/home/jobs/x/checkpoint/7");
  EXPECT_EQ(plan.env.at("MUSTER_PREV_CAUSE"), "lost");
  EXPECT_EQ(plan.env.at("MUSTER_ATTEMPT"), "2");
  EXPECT_EQ(plan.env.at("PATH"),
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/home/bin/tools");
}

}  // namespace
}  // namespace muster::plan
