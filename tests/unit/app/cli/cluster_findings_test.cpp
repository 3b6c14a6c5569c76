#include <gtest/gtest.h>

#include "app/cli/cluster_look.hpp"

namespace muster {
namespace {

kube::SurveyedNode gpu_node(std::string name) {
  return {.name = std::move(name),
          .type = "big",
          .zone = {},
          .cpus = {96'000},
          .memory = {std::int64_t{900} << 30},
          .devices = {{"nvidia.com/gpu", 8}},
          .taints = {"sku=gpu:NoSchedule"},
          .is_ready = true};
}

kube::ApiError forbidden() {
  kube::ApiError error(fail(Kind::denied, "forbidden").value());
  error.code = 403;
  return error;
}

/// A cluster where all is well.
ClusterLook good_look() {
  ClusterLook look{.context = "lab", .server = "https://lab", .space = "research", .survey = {}};
  look.survey.version = {.major = 1, .minor = 36, .text = "v1.36.4"};
  look.survey.enforced = std::string();
  look.survey.dns = kube::Dns{.is_there = true, .ready = 2};
  look.survey.nodes = std::vector{gpu_node("a"), gpu_node("b")};
  return look;
}

spec::Profile good_profile() {
  spec::Profile profile;
  profile.name = "lab";
  profile.kind = "kube";
  profile.pod.image = "image";
  profile.pod.tolerations = {{.key = "sku", .value = "gpu", .effect = "NoSchedule"}};
  profile.pod.volumes = {{.claim = "data", .path = "/data"}};
  return profile;
}

Finding named(const std::vector<Finding>& all, std::string_view name) {
  for (const auto& one : all)
    if (one.name == name) return one;
  ADD_FAILURE() << "no finding " << name;
  return {};
}

TEST(ClusterFindings, NothingToSayWhereAllIsWell) {
  for (const auto& finding : findings_of(good_look(), good_profile())) {
    EXPECT_EQ(finding.state, "ok") << finding.name << ": " << finding.text;
    EXPECT_EQ(finding.fix, "") << finding.name;
  }
}

TEST(ClusterFindings, ANeededRightFailsAnOptionalOneWarns) {
  auto look = good_look();
  const auto& roles = render::shipped_roles();
  look.survey.lacks = {{roles[0].name, roles[0].rights[4], "create"},
                       {roles[0].name, roles[0].rights[4], "patch"},
                       {roles[1].name, roles[1].rights[0], "create"}};
  const auto findings = findings_of(look, good_profile());
  const auto jobs = named(findings, "rights muster-jobs");
  EXPECT_EQ(jobs.state, "fail");
  EXPECT_NE(jobs.text.find("may not create, patch secrets;"), std::string::npos) << jobs.text;
  EXPECT_NE(jobs.fix.find("muster cluster roles muster-jobs --namespace research"),
            std::string::npos);
  const auto exec = named(findings, "rights muster-exec");
  EXPECT_EQ(exec.state, "warn");
  EXPECT_NE(exec.text.find("signals"), std::string::npos) << exec.text;
  EXPECT_EQ(named(findings, "rights muster-nodes").state, "ok");
}

TEST(ClusterFindings, WhatMayNotBeSeenSaysSo) {
  auto look = good_look();
  look.survey.nodes = tl::unexpected(forbidden());
  look.survey.dns = tl::unexpected(forbidden());
  look.survey.enforced = tl::unexpected(forbidden());
  const auto findings = findings_of(look, good_profile());
  for (const char* name : {"nodes", "dns", "namespace"}) {
    EXPECT_EQ(named(findings, name).state, "warn") << name;
    EXPECT_NE(named(findings, name).fix, "") << name;
  }
}

TEST(ClusterFindings, AMissingNamespaceFails) {
  auto look = good_look();
  auto absent = forbidden();
  absent.code = 404;
  look.survey.enforced = tl::unexpected(absent);
  EXPECT_EQ(named(findings_of(look, good_profile()), "namespace").state, "fail");
}

TEST(ClusterFindings, PodsThatTheNamespaceWouldRefuse) {
  auto look = good_look();
  auto profile = good_profile();
  look.survey.enforced = std::string("restricted");
  EXPECT_EQ(named(findings_of(look, profile), "pod security").state, "ok");
  profile.pod.pod_security = PodSecurity::image;
  EXPECT_EQ(named(findings_of(look, profile), "pod security").state, "fail");
}

TEST(ClusterFindings, TaintsThatCloseEveryNodeAreNamedWithTheirToleration) {
  auto profile = good_profile();
  profile.pod.tolerations.clear();
  const auto findings = findings_of(good_look(), profile);
  EXPECT_EQ(named(findings, "nodes").state, "warn");
  EXPECT_EQ(named(findings, "gpus").fix, "to use them: tolerations: [\"sku=gpu:NoSchedule\"]");
}

TEST(ClusterFindings, AnotherMakersGpus) {
  auto look = good_look();
  for (auto& node : *look.survey.nodes) node.devices = {{"amd.com/gpu", 4}};
  EXPECT_EQ(named(findings_of(look, good_profile()), "gpus").fix, "set gpu_resource: amd.com/gpu");
  EXPECT_EQ(gpu_resource_of(*look.survey.nodes), "amd.com/gpu");
  EXPECT_EQ(gpus_per_node_of(*look.survey.nodes, "amd.com/gpu"), 4);
}

TEST(ClusterFindings, NodesThatAreAlikeShareARow) {
  auto small = gpu_node("c");
  small.devices.clear();
  const auto table = nodes_table({gpu_node("a"), small, gpu_node("b")});
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0][0], "2");
  EXPECT_EQ(table.rows[1][0], "1");
}

}  // namespace
}  // namespace muster
