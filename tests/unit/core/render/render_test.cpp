#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/text.hpp"
#include "core/model/json.hpp"
#include "core/render/in_pod.hpp"
#include "core/render/kube_job.hpp"
#include "core/render/names.hpp"
#include "samples.hpp"

namespace muster::render {
namespace {

std::vector<Object> rendered(const Rendering& rendering) {
  auto objects = render(rendering);
  EXPECT_TRUE(objects) << to_text(objects.error());
  return objects.value_or(std::vector<Object>{});
}

json::object pod_of(const Rendering& rendering) {
  const auto job = *parse_json(rendered(rendering).back().json);
  return job.at_pointer("/spec/template/spec").as_object();
}

/// Every string of a document.
void each_string(const json::value& value, const std::function<void(std::string_view)>& take) {
  if (value.is_string()) take(std::string_view(value.get_string()));
  if (value.is_array())
    for (const auto& item : value.get_array()) each_string(item, take);
  if (value.is_object())
    for (const auto& pair : value.get_object()) each_string(pair.value(), take);
}

TEST(KubeNames, FollowFromJobHomeAndAttempt) {
  EXPECT_EQ(object_name(sample_ref(), kSampleHome), "m-0badcafe-0a1b-2");
  EXPECT_EQ(code_name(sample_ref(), kSampleHome), "m-0badcafe-0a1b-2-code");
  EXPECT_EQ(peer_address("m-0badcafe-0a1b-2", 0), "m-0badcafe-0a1b-2-0.m-0badcafe-0a1b-2");
  EXPECT_EQ(selector_of(kSampleHome), std::string("muster.dev/home=") + kSampleHome);
  EXPECT_EQ(selector_of(kSampleHome, "a b", "01234567"),
            fmt::format("muster.dev/home={},muster.dev/cluster=a-b,muster.dev/place=01234567",
                        kSampleHome));
  EXPECT_NE(place_of("k", "a"), place_of("k", "b"));
  EXPECT_NE(place_of("k", "a"), place_of("ka", ""));
  EXPECT_EQ(selector_of(sample_ref(), kSampleHome),
            std::string("muster.dev/home=") + kSampleHome +
                ",muster.dev/job=ann_1772366400_0badcafe,muster.dev/attempt=2");
}

RC_GTEST_PROP(KubeNames, AnyIdsGiveANameThatAPodOfALargeGangCanHave,
              (const std::string& job, const std::string& home)) {
  const AttemptRef ref{.seq = 1, .job = JobId(job), .attempt = *rc::gen::inRange(1, 1'000'000)};
  const auto pod = peer_address(object_name(ref, home), 99'999);
  const auto name = pod.substr(0, pod.find('.'));
  RC_ASSERT(name.size() <= 63U);
  RC_ASSERT(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos);
}

RC_GTEST_PROP(KubeNames, AnyTextGivesALabelThatMayBeOne, (const std::string& text)) {
  const auto value = label_value(text);
  const auto is_edge = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  RC_ASSERT(value.size() <= 63U);
  RC_ASSERT(value.empty() || (is_edge(value.front()) && is_edge(value.back())));
  RC_ASSERT(label_value(value) == value);
}

TEST(Render, SecretsComeFirstAndTheJobLast) {
  const auto spec = plain_spec();
  auto rendering = rendering_of(spec);
  rendering.code = CodeFrom::secret;
  rendering.code_bytes = "code";
  std::vector<std::string> kinds;
  for (const auto& object : rendered(rendering)) kinds.push_back(object.kind + " " + object.name);
  EXPECT_EQ(kinds,
            (std::vector<std::string>{"Secret m-0badcafe-0a1b-2", "Secret m-0badcafe-0a1b-2-code",
                                      "Service m-0badcafe-0a1b-2", "Job m-0badcafe-0a1b-2"}));
  EXPECT_EQ(collection_path(rendered(rendering).back(), "ml"), "/apis/batch/v1/namespaces/ml/jobs");
  EXPECT_EQ(collection_path(rendered(rendering).front(), "ml"), "/api/v1/namespaces/ml/secrets");
}

TEST(Render, WhatTheJobIsStartedWithIsInTheSecretAndNowhereElse) {
  auto spec = plain_spec();
  spec.command = {"python3", "--token", "tok-123"};
  auto rendering = rendering_of(spec);
  rendering.plan_bytes = "argv tok-123 and so on";
  const auto objects = rendered(rendering);
  const auto secret = *parse_json(objects.front().json);
  EXPECT_EQ(from_base64(text_at(secret.at("data").as_object(), "plan")).value(),
            rendering.plan_bytes);
  for (std::size_t i = 1; i < objects.size(); ++i)
    EXPECT_EQ(objects[i].json.find("tok-123"), std::string::npos) << objects[i].kind;
}

TEST(Render, EveryObjectCarriesTheLabelsThatSelectIt) {
  const auto spec = plain_spec();
  for (const auto& object : rendered(rendering_of(spec))) {
    const auto document = *parse_json(object.json);
    const auto& labels = document.at_pointer("/metadata/labels").as_object();
    for (const auto& [name, value] : labels_of(sample_ref(), kSampleHome))
      EXPECT_EQ(text_at(labels, name), value) << object.kind;
  }
}

TEST(Render, RequestsAreLimitsAndWhatComesBeforeTheJobAsksForNoMore) {
  auto spec = plain_spec();
  spec.request = {.nodes = 2,
                  .procs_per_node = 4,
                  .gpus_per_node = 4,
                  .cpus_per_node = {6500},
                  .memory_per_node = {(std::int64_t{4} << 30) + 1}};
  spec.pod->resources = {{"rdma/ib", 8}};
  const auto pod = pod_of(rendering_of(spec));
  const auto& amounts = pod.at("containers").at(0).at("resources");
  EXPECT_EQ(amounts.at("requests"), amounts.at("limits"));
  EXPECT_EQ(json::serialize(amounts.at("limits")),
            R"({"cpu":"6500m","memory":"4294967297","nvidia.com/gpu":"4","rdma/ib":"8"})");
  EXPECT_EQ(json::serialize(pod.at("initContainers").at(0).at("resources").at("requests")),
            R"({"cpu":"6500m","memory":"4294967297"})");
}

TEST(Render, TimesAreWholeSecondsRoundedUp) {
  auto spec = plain_spec();
  spec.grace = std::chrono::milliseconds(1500);
  EXPECT_EQ(pod_of(rendering_of(spec)).at("terminationGracePeriodSeconds"), 12);
  EXPECT_FALSE(pod_of(rendering_of(spec)).contains("activeDeadlineSeconds"));
  spec.time_limit = std::chrono::seconds(60);
  EXPECT_EQ(pod_of(rendering_of(spec)).at("activeDeadlineSeconds"), 60 + 2 + 3600);
}

TEST(Render, APlanThatNoSecretCanHoldIsRefused) {
  const auto spec = plain_spec();
  auto rendering = rendering_of(spec);
  rendering.plan_bytes = std::string((1U << 20) + 1, 'x');
  const auto objects = render(rendering);
  ASSERT_FALSE(objects);
  EXPECT_EQ(objects.error().kind, Kind::exhausted);
}

TEST(Render, NoTokenIsMountedUnlessAServiceAccountIsNamed) {
  auto spec = plain_spec();
  EXPECT_EQ(pod_of(rendering_of(spec)).at("automountServiceAccountToken"), false);
  spec.pod->service_account = "trainer";
  const auto pod = pod_of(rendering_of(spec));
  EXPECT_FALSE(pod.contains("automountServiceAccountToken"));
  EXPECT_EQ(text_at(pod, "serviceAccountName"), "trainer");
}

TEST(Render, SpotIsSteeredByAffinityAndLetInByTolerations) {
  auto spec = plain_spec();
  const auto has = [&](std::optional<Spot> spot, std::string_view word) {
    spec.pod->spot = spot;
    return json::serialize(pod_of(rendering_of(spec))).find(word) != std::string::npos;
  };
  EXPECT_FALSE(has(std::nullopt, "affinity") || has(std::nullopt, "tolerations"));
  EXPECT_TRUE(has(Spot::never, "NotIn") && !has(Spot::never, "tolerations"));
  EXPECT_TRUE(has(Spot::prefer, "preferredDuring") && has(Spot::prefer, "tolerations"));
  EXPECT_FALSE(has(Spot::prefer, "requiredDuring"));
  EXPECT_TRUE(has(Spot::only, "requiredDuring") && has(Spot::only, "tolerations"));
}

TEST(Render, ATolerationIsAsWideAsItIsSaid) {
  auto spec = plain_spec();
  spec.pod->tolerations = {{"sku", "gpu", "NoSchedule"}, {"sku", "", ""}, {}};
  EXPECT_EQ(json::serialize(pod_of(rendering_of(spec)).at("tolerations")),
            R"([{"key":"sku","operator":"Equal","value":"gpu","effect":"NoSchedule"},)"
            R"({"key":"sku","operator":"Exists"},{"operator":"Exists"}])");
}

TEST(Render, SecurityFollowsTheNamespaceWhereItIsAskedTo) {
  using enum PodSecurity;
  EXPECT_EQ(security_in(automatic, "restricted"), restricted);
  EXPECT_EQ(security_in(automatic, "baseline"), baseline);
  EXPECT_EQ(security_in(automatic, "privileged"), image);
  EXPECT_EQ(security_in(automatic, ""), image);
  EXPECT_EQ(security_in(baseline, "restricted"), baseline);
}

TEST(Render, EveryContainerOfARestrictedPodIsRestricted) {
  auto spec = plain_spec();
  spec.pod->pod_security = PodSecurity::restricted;
  auto rendering = rendering_of(spec);
  rendering.code = CodeFrom::stream;
  const auto pod = pod_of(rendering);
  EXPECT_EQ(pod.at("securityContext").at("runAsNonRoot"), true);
  int containers = 0;
  for (const char* list : {"initContainers", "containers"})
    for (const auto& container : pod.at(list).as_array()) {
      ++containers;
      EXPECT_EQ(json::serialize(container.at("securityContext")),
                R"({"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}})");
    }
  EXPECT_EQ(containers, 3);
  const auto asked = render(rendering);
  spec.pod->pod_security = PodSecurity::automatic;
  rendering.enforced = "restricted";
  EXPECT_EQ(rendered(rendering).back().json, asked->back().json);
}

TEST(Render, NothingThatKubernetesWouldExpandIsInADocument) {
  auto spec = plain_spec();
  spec.command = {"echo", "$(HOME)"};
  spec.name = "$(X)";
  for (const auto& object : rendered(rendering_of(spec)))
    each_string(*parse_json(object.json), [](std::string_view text) {
      EXPECT_EQ(text.find("$("), std::string_view::npos) << text;
    });
}

RC_GTEST_PROP(Render, TheSameJobGivesTheSameBytes, (const std::string& plan)) {
  const auto spec = plain_spec();
  auto rendering = rendering_of(spec);
  rendering.plan_bytes = plan;
  const auto once = render(rendering);
  const auto again = render(rendering);
  for (std::size_t i = 0; i < once->size(); ++i) RC_ASSERT((*once)[i].json == (*again)[i].json);
}

TEST(Render, TheOwnerIsPatchedOn) {
  EXPECT_EQ(owner_patch("m-1", "u-1"),
            R"({"metadata":{"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job",)"
            R"("name":"m-1","uid":"u-1"}]}})");
}

TEST(InPod, RankZeroIsFoundByName) {
  EXPECT_EQ(in_pod(sample_ref(), kSampleHome).master_addr, "m-0badcafe-0a1b-2-0.m-0badcafe-0a1b-2");
}

}  // namespace
}  // namespace muster::render
