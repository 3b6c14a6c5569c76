// Profiles and jobs of kind kube.
#include <gtest/gtest.h>

#include "core/model/codec.hpp"
#include "core/spec/config.hpp"
#include "core/spec/resolve.hpp"

namespace muster::spec {
namespace {

Result<Profile> profile_from(const std::string& keys, Environment env = {}) {
  ConfigSources sources;
  sources.user = ConfigFile{"config.yaml", "clusters:\n  k:\n    kind: kube\n" + keys};
  sources.env = std::move(env);
  TRY(const auto config, read_config(sources));
  EXPECT_TRUE(config.warnings.empty()) << config.warnings.front();
  return profile_of(config, "k");
}

Error refused(const std::string& keys) {
  const auto profile = profile_from(keys);
  EXPECT_FALSE(profile) << keys;
  return profile ? Error{} : profile.error();
}

Profile plain_profile() {
  Profile profile;
  profile.name = "k";
  profile.kind = "kube";
  profile.context = "here";
  profile.pod.image = "train:1";
  return profile;
}

Result<ResolvedJob> resolved(const Profile& profile, const SubmitOptions& asked = {}) {
  auto options = asked;
  options.command = {"true"};
  return resolve(
      options, profile, {},
      {.user = "ann", .dir = "/home/ann", .env = {}, .nice = 5, .limits = {{"core", 0}}});
}

TEST(PodKeys, AProfileSaysHowPodsAreMade) {
  const auto profile = profile_from(
      "    context: aks-1\n"
      "    kubeconfig: /etc/kube\n"
      "    namespace: ml\n"
      "    image: registry.example.com:5000/a/b@sha256:00ff\n"
      "    agent_image: muster:1\n"
      "    image_pull_secrets: [one, two]\n"
      "    service_account: trainer\n"
      "    pod_security: restricted\n"
      "    node_selector: {kubernetes.azure.com/accelerator: nvidia, zone: '1'}\n"
      "    tolerations:\n"
      "      - {key: sku, operator: Equal, value: gpu, effect: NoSchedule}\n"
      "      - {operator: Exists}\n"
      "      - spare:NoExecute\n"
      "    spot: prefer\n"
      "    priority_class: high\n"
      "    shm: 8G\n"
      "    gpu_resource: amd.com/gpu\n"
      "    resources: {rdma/ib: 8}\n"
      "    volumes: [{claim: data, path: /data, mode: ro}, out:/out]\n"
      "    store: code:/mnt/code\n");
  ASSERT_TRUE(profile) << to_text(profile.error());
  EXPECT_EQ(profile->context, "aks-1");
  EXPECT_EQ(profile->kubeconfig, "/etc/kube");
  PodSettings pod;
  pod.image = "registry.example.com:5000/a/b@sha256:00ff";
  pod.agent_image = "muster:1";
  pod.image_pull_secrets = {"one", "two"};
  pod.service_account = "trainer";
  pod.name_space = "ml";
  pod.pod_security = PodSecurity::restricted;
  pod.node_selector = {{"kubernetes.azure.com/accelerator", "nvidia"}, {"zone", "1"}};
  pod.tolerations = {{"sku", "gpu", "NoSchedule"}, {}, {"spare", "", "NoExecute"}};
  pod.spot = Spot::prefer;
  pod.priority_class = "high";
  pod.shm = Bytes{8LL << 30};
  pod.gpu_resource = "amd.com/gpu";
  pod.resources = {{"rdma/ib", 8}};
  pod.volumes = {{"data", "/data", true}, {"out", "/out", false}};
  pod.store = CodeStore{.claim = "code", .folder = "/mnt/code"};
  EXPECT_TRUE(profile->pod == pod);
}

TEST(PodKeys, VariablesSayTheSameWithCommas) {
  const auto profile = profile_from("    tolerations: [a]\n    spot: never\n",
                                    {{"MUSTER_TOLERATIONS", "sku=gpu:NoSchedule,spare"},
                                     {"MUSTER_NODE_SELECTOR", "zone=1,pool=big"},
                                     {"MUSTER_SPOT", "only"}});
  ASSERT_TRUE(profile) << to_text(profile.error());
  EXPECT_EQ(profile->pod.tolerations,
            (std::vector<Toleration>{{"sku", "gpu", "NoSchedule"}, {"spare", "", ""}}));
  EXPECT_EQ(profile->pod.node_selector.at("pool"), "big");
  EXPECT_EQ(profile->pod.spot, Spot::only);
}

TEST(PodKeys, AMistakeIsToldAtItsPlaceNotByTheCluster) {
  for (const char* keys : {"image: 'two words'",
                           "namespace: Upper",
                           "image_pull_secrets: [a_b]",
                           "image_pull_secrets: one",
                           "service_account: -x",
                           "pod_security: privileged",
                           "node_selector: {a b: c}",
                           "node_selector: {zone: 'a b'}",
                           "tolerations: ['a:Never']",
                           "tolerations: [{key: a, operater: Exists}]",
                           "tolerations: [{key: a, operator: In}]",
                           "spot: maybe",
                           "shm: 1K",
                           "resources: {cpu: 2}",
                           "resources: {rdma/ib: many}",
                           "volumes: [data]",
                           "volumes: ['data:/muster/plan']",
                           "volumes: ['data:/d:rx']",
                           "volumes: [[a]]",
                           "store: code:mnt",
                           "store: Code",
                           "store: 'code:'",
                           "tolerations: ['a,b']",
                           "gpu_resource: ''"}) {
    const auto error = refused(std::string("    ") + keys + "\n");
    EXPECT_EQ(error.where.rfind("config.yaml:4:", 0), 0U) << keys << ": " << to_text(error);
  }
  EXPECT_EQ(refused("    tolerations: [{key: a, operater: Exists}]\n").fix.front(),
            "did you mean \"operator\"?");
}

TEST(PodKeys, AProjectMayNotChooseWhereThePersonsClustersAre) {
  for (const char* key : {"context", "kubeconfig"}) {
    ConfigSources sources;
    sources.project = ConfigFile{"muster.yaml", fmt::format("clusters: {{k: {{{}: x}}}}", key)};
    const auto config = read_config(sources);
    ASSERT_FALSE(config) << key;
    EXPECT_EQ(config.error().where, "muster.yaml:1:16");
  }
}

TEST(ResolvePod, DefaultsComeFromTheProfileAndTheShape) {
  SubmitOptions options;
  options.procs = 4;
  const auto job = resolved(plain_profile(), options);
  ASSERT_TRUE(job) << to_text(job.error());
  const auto& spec = job->spec;
  ASSERT_TRUE(spec.pod);
  EXPECT_EQ(spec.pod->agent_image, "train:1");
  EXPECT_EQ(spec.pod->gpu_resource, "nvidia.com/gpu");
  EXPECT_EQ(spec.request.cpus_per_node, MilliCpus{4000});
  EXPECT_EQ(spec.request.memory_per_node, Bytes{4LL << 30});
  EXPECT_EQ(spec.pod->shm, Bytes{2LL << 30});
  EXPECT_EQ(spec.nice, 0);
  EXPECT_TRUE(spec.limits.empty());
  EXPECT_TRUE(job->wants_snapshot);
}

TEST(ResolvePod, GpusOfAClusterThatWasNeverSeenAreTheProfiles) {
  auto profile = plain_profile();
  SubmitOptions options;
  options.gpus = 16;
  EXPECT_FALSE(resolved(profile, options));
  profile.gpus_per_node = 8;
  const auto job = resolved(profile, options);
  ASSERT_TRUE(job) << to_text(job.error());
  EXPECT_EQ(job->spec.request.nodes, 2);
  EXPECT_EQ(job->spec.request.gpus_per_node, 8);
}

TEST(ResolvePod, FlagsOverruleTheProfile) {
  SubmitOptions options;
  options.image = "other:2";
  options.spot = Spot::only;
  options.memory = Bytes{64LL << 20};
  const auto job = resolved(plain_profile(), options);
  ASSERT_TRUE(job) << to_text(job.error());
  EXPECT_EQ(job->spec.pod->image, "other:2");
  EXPECT_EQ(job->spec.pod->spot, Spot::only);
  EXPECT_EQ(job->spec.pod->shm, Bytes{64LL << 20});
}

TEST(ResolvePod, WhatIsMissingIsNamedWithTheKeyThatSaysIt) {
  auto no_image = plain_profile();
  no_image.pod.image.clear();
  EXPECT_NE(resolved(no_image).error().fix.front().find("clusters.k.image"), std::string::npos);
  auto no_context = plain_profile();
  no_context.context.clear();
  EXPECT_NE(resolved(no_context).error().fix.front().find("clusters.k.context"), std::string::npos);
}

TEST(ResolvePod, AFolderOfThisMachineIsNotThere) {
  SubmitOptions options;
  options.here = true;
  const auto job = resolved(plain_profile(), options);
  ASSERT_FALSE(job);
  EXPECT_NE(job.error().what.find("do not see this folder"), std::string::npos);
  auto profile = plain_profile();
  profile.runs_here = true;
  EXPECT_FALSE(resolved(profile));
}

TEST(ResolvePod, SharedMemoryIsPartOfTheMemory) {
  auto profile = plain_profile();
  profile.pod.shm = Bytes{2LL << 30};
  const auto job = resolved(profile);
  ASSERT_FALSE(job);
  EXPECT_NE(job.error().fix.front().find("--memory"), std::string::npos);
}

TEST(ResolvePod, ElsewhereAnImageIsRefused) {
  SubmitOptions options;
  options.image = "x";
  EXPECT_FALSE(resolved({}, options));
  EXPECT_FALSE(resolved({})->spec.pod);
}

TEST(ResolvePod, AnotherImageIsAnotherRequest) {
  SubmitOptions options;
  const auto base = resolved(plain_profile(), options)->spec.request_hash;
  EXPECT_EQ(resolved(plain_profile(), options)->spec.request_hash, base);
  options.image = "other:2";
  EXPECT_NE(resolved(plain_profile(), options)->spec.request_hash, base);
}

TEST(ResolvePod, SubmittedAgainAJobKeepsItsPodsUnlessItIsToldOtherwise) {
  const auto old = resolved(plain_profile())->spec;
  SubmitOptions options;
  EXPECT_TRUE(pod_again(old, options) == old.pod);
  options.image = "other:2";
  options.spot = Spot::never;
  const auto pod = pod_again(old, options);
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->image, "other:2");
  EXPECT_EQ(pod->agent_image, "other:2");
  EXPECT_EQ(pod->spot, Spot::never);
  EXPECT_FALSE(options.image || options.spot);
  options.cluster = "elsewhere";
  EXPECT_FALSE(pod_again(old, options));
}

TEST(ResolvePod, TheSettingsSurviveTheStore) {
  auto spec = resolved(plain_profile())->spec;
  spec.pod->tolerations = {{"a", "b", ""}};
  spec.pod->volumes = {{"data", "/data", true}};
  const auto back = decode_spec(encode(spec));
  ASSERT_TRUE(back) << to_text(back.error());
  EXPECT_TRUE(back->pod == spec.pod);
  const auto old = decode_spec(R"({"command":["a"]})");
  ASSERT_TRUE(old);
  EXPECT_FALSE(old->pod);
  EXPECT_EQ(encode(*old).find("pod"), std::string::npos);
}

}  // namespace
}  // namespace muster::spec
