// What is created on a cluster, as the API server gets it. tests/kube/test_render.py sends the
// files to a real one, which must take each.
#include "base/text.hpp"
#include "core/model/codec.hpp"
#include "core/render/kube_job.hpp"
#include "golden.hpp"
#include "unit/core/render/samples.hpp"

namespace muster::golden {
namespace {

using render::CodeFrom;

std::string list_of(const render::Rendering& rendering) {
  const auto objects = render::render(rendering);
  EXPECT_TRUE(objects) << to_text(objects.error());
  std::vector<std::string> items;
  for (const auto& object : objects.value_or(std::vector<render::Object>{}))
    items.push_back(object.json);
  return fmt::format(R"({{"apiVersion":"v1","kind":"List","items":[{}]}})", join(items, ","));
}

void expect_objects(const std::string& name, const JobSpec& spec, CodeFrom code = CodeFrom::none) {
  auto rendering = render::rendering_of(spec);
  rendering.code = code;
  if (code == CodeFrom::secret) rendering.code_bytes = "the code";
  expect_golden("kube/" + name + ".json", unfolded(list_of(rendering)));
}

JobSpec gang_spec() {
  auto spec = render::plain_spec();
  spec.request = {.nodes = 2,
                  .procs_per_node = 4,
                  .gpus_per_node = 4,
                  .cpus_per_node = {4500},
                  .memory_per_node = {std::int64_t{64} << 30}};
  spec.pod->shm = Bytes{std::int64_t{32} << 30};
  spec.pod->resources = {{"rdma/ib", 4}};
  spec.pod->node_selector = {{"kubernetes.azure.com/accelerator", "nvidia"}};
  spec.pod->tolerations = {{"sku", "gpu", "NoSchedule"}};
  spec.pod->store = CodeStore{.claim = "team-code", .folder = "/mnt/team-code"};
  spec.time_limit = std::chrono::hours(2);
  return spec;
}

TEST(GoldenKube, OneRank) { expect_objects("single", render::plain_spec()); }

TEST(GoldenKube, AGangWithGpusAndItsCodeInASecret) {
  expect_objects("gang", gang_spec(), CodeFrom::secret);
}

TEST(GoldenKube, EveryWordAboutSpot) {
  for (const auto spot : {Spot::never, Spot::prefer, Spot::only}) {
    auto spec = render::plain_spec();
    spec.pod->spot = spot;
    expect_objects(fmt::format("spot_{}", name_of(spot)), spec);
  }
}

TEST(GoldenKube, EveryStandardOfPodSecurity) {
  for (const auto security : {PodSecurity::restricted, PodSecurity::baseline}) {
    auto spec = render::plain_spec();
    spec.pod->pod_security = security;
    expect_objects(std::string(name_of(security)), spec, CodeFrom::stream);
  }
}

TEST(GoldenKube, PullSecretsServiceAccountPriorityNamespaceAndVolumes) {
  auto spec = render::plain_spec();
  spec.pod->image_pull_secrets = {"registry", "mirror"};
  spec.pod->service_account = "trainer";
  spec.pod->priority_class = "system-cluster-critical";
  spec.pod->name_space = "kube-system";
  spec.pod->volumes = {{"data", "/data", true}, {"results", "/results", false}};
  expect_objects("identity", spec);
}

TEST(GoldenKube, CodeByStream) { expect_objects("stream", render::plain_spec(), CodeFrom::stream); }

TEST(GoldenKube, CodeFromAStoreThatItsPodsOnlyRead) {
  auto spec = render::plain_spec();
  spec.pod->store = CodeStore{.claim = "team-code", .folder = "/mnt/team-code"};
  expect_objects("store", spec, CodeFrom::store);
}

TEST(GoldenKube, CodeThroughAPodIntoAClaim) {
  auto spec = render::plain_spec();
  spec.pod->store = CodeStore{.claim = "team-code", .folder = {}};
  spec.pod->pod_security = PodSecurity::restricted;
  expect_objects("claim", spec, CodeFrom::claim);
}

TEST(GoldenKube, TheSettingsOfPodsAsTheyAreStored) {
  const auto text = encode(*gang_spec().pod);
  expect_golden("pod.json", unfolded(text));
  auto bare = *gang_spec().pod;
  bare.resources.clear();
  bare.node_selector.clear();
  bare.volumes = {{"data", "/data", true}};
  EXPECT_EQ(sorted_unique(reference_names("job.md", "one more field, `pod`")),
            sorted_unique(names_in(encode(bare))));
}

}  // namespace
}  // namespace muster::golden
