#include "edge/kube/discovery.hpp"

#include <gtest/gtest.h>

#include "edge/kube/access.hpp"
#include "unit/edge_kube/fake_server.hpp"

namespace muster::kube {
namespace {

constexpr std::string_view kCore = R"({"kind":"APIGroupDiscoveryList","items":[{"metadata":{},
  "versions":[{"version":"v1","freshness":"Current","resources":[
    {"resource":"pods","responseKind":{"kind":"Pod"},"scope":"Namespaced"},
    {"resource":"nodes","responseKind":{"kind":"Node"},"scope":"Cluster"}]}]}]})";
constexpr std::string_view kGroups = R"({"kind":"APIGroupDiscoveryList","items":[
  {"metadata":{"name":"batch"},"versions":[{"version":"v1","resources":[
    {"resource":"jobs","responseKind":{"kind":"Job"},"scope":"Namespaced"}]}]},
  {"metadata":{"name":"broken.example.org"},"versions":[{"version":"v1","freshness":"Stale"}]}]})";

TEST(Discovery, OneAnswerNamesAllKindsOfAGroup) {
  FakeServer server([](const http::Request& request, Wire& wire) {
    EXPECT_NE(request.header("Accept").find("as=APIGroupDiscoveryList"), std::string::npos);
    return wire.answer(200, request.path == "/api" ? kCore : kGroups);
  });
  Api api(server.cluster());
  const auto found = discover(api);
  ASSERT_TRUE(found) << to_text(found.error());
  EXPECT_EQ(server.requests(), 2);
  EXPECT_TRUE(found->has(jobs()));
  ASSERT_NE(found->find("", "nodes"), nullptr);
  EXPECT_FALSE(found->find("", "nodes")->is_namespaced);
  EXPECT_EQ(found->find("batch", "jobs")->kind, "Job");
  EXPECT_EQ(found->find("jobset.x-k8s.io", "jobsets"), nullptr);
  EXPECT_EQ(found->stale, (std::vector<std::string>{"broken.example.org/v1"}));
}

TEST(Discovery, AnOldServerIsAskedGroupByGroup) {
  FakeServer server([](const http::Request& request, Wire& wire) {
    if (request.path == "/api")
      return wire.answer(200, R"({"kind":"APIVersions","versions":["v1"]})");
    if (request.path == "/apis")
      return wire.answer(200, R"({"kind":"APIGroupList","groups":[{"name":"batch",
        "versions":[{"version":"v1"}]}]})");
    if (request.path == "/api/v1")
      return wire.answer(200, R"({"resources":[{"name":"pods","kind":"Pod","namespaced":true},
        {"name":"pods/log","kind":"Pod","namespaced":true}]})");
    EXPECT_EQ(request.path, "/apis/batch/v1");
    return wire.answer(200, R"({"resources":[{"name":"jobs","kind":"Job","namespaced":true}]})");
  });
  Api api(server.cluster());
  const auto found = discover(api);
  ASSERT_TRUE(found) << to_text(found.error());
  EXPECT_EQ(found->resources.size(), 2U);
  EXPECT_TRUE(found->has(pods()));
  EXPECT_TRUE(found->has(jobs()));
}

TEST(Discovery, TheVersionIsReadFromWhateverItLooksLike) {
  FakeServer server([](const http::Request&, Wire& wire) {
    return wire.answer(200, R"({"major":"1","minor":"35+","gitVersion":"v1.35.2-gke.1"})");
  });
  Api api(server.cluster());
  const auto version = server_version(api);
  ASSERT_TRUE(version);
  EXPECT_EQ(version->minor, 35);
  EXPECT_EQ(version->text, "v1.35.2-gke.1");
}

TEST(Access, TheClusterIsAskedWhatIsAllowed) {
  FakeServer server([](const http::Request& request, Wire& wire) {
    EXPECT_EQ(request.path, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews");
    const bool is_exec = request.body.find(R"("subresource":"exec")") != std::string::npos;
    return wire.answer(201, is_exec ? R"({"status":{"allowed":false,"reason":"not you"}})"
                                    : R"({"status":{"allowed":true}})");
  });
  Api api(server.cluster());
  EXPECT_TRUE(may(api, {.verb = "create", .resource = jobs(), .space = "default"})->is_allowed);
  const auto denied =
      may(api, {.verb = "create", .resource = pods(), .part = "exec", .space = "default"});
  ASSERT_TRUE(denied);
  EXPECT_FALSE(denied->is_allowed);
  EXPECT_EQ(denied->reason, "not you");
}

TEST(Access, RulesAreListed) {
  FakeServer server([](const http::Request&, Wire& wire) {
    return wire.answer(201, R"({"status":{"incomplete":true,"resourceRules":[
      {"verbs":["get","list"],"apiGroups":[""],"resources":["pods"]}]}})");
  });
  Api api(server.cluster());
  const auto found = access_rules(api, "default");
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_incomplete);
  ASSERT_EQ(found->rules.size(), 1U);
  EXPECT_EQ(found->rules[0].verbs, (std::vector<std::string>{"get", "list"}));
}

}  // namespace
}  // namespace muster::kube
