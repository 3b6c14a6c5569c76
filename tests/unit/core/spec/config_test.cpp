#include "core/spec/config.hpp"

#include <gtest/gtest.h>

namespace muster::spec {
namespace {

ConfigSources sources(std::string user, std::string project = {}, Environment env = {}) {
  ConfigSources made;
  if (!user.empty()) made.user = ConfigFile{"config.yaml", std::move(user)};
  if (!project.empty()) made.project = ConfigFile{"muster.yaml", std::move(project)};
  made.env = std::move(env);
  return made;
}

Config config_of(const ConfigSources& from) {
  auto config = read_config(from);
  EXPECT_TRUE(config) << to_text(config.error());
  return config.value_or(Config{});
}

Error refused(const std::string& text) {
  auto config = read_config(sources(text));
  EXPECT_FALSE(config) << text;
  return config ? Error{} : config.error();
}

Profile profile_in(const Config& config, std::string_view name) {
  auto profile = profile_of(config, name);
  EXPECT_TRUE(profile) << to_text(profile.error());
  return profile.value_or(Profile{});
}

/// The places that set a key, the winner first.
std::vector<std::string> layers(const Config& config, std::string_view profile,
                                std::string_view key) {
  const auto settings = settings_of(config, profile);
  EXPECT_TRUE(settings);
  std::vector<std::string> found;
  for (const auto& setting : *settings)
    if (setting.key == key) found.push_back(setting.value + " @ " + to_text(setting.origin));
  return found;
}

TEST(Config, WithoutAnyFileThereIsOneLocalCluster) {
  const auto config = config_of({});
  EXPECT_EQ(chosen_profile(config), "local");
  const auto local = profile_in(config, "local");
  EXPECT_EQ(local.kind, "local");
  EXPECT_EQ(local.queue, "default");
  EXPECT_EQ(local.grace, Duration(std::chrono::seconds(30)));
  EXPECT_EQ(local.retries, Retries{});
  EXPECT_EQ(layers(config, "local", "queue"), std::vector<std::string>{"default @ built in"});
}

TEST(Config, TheStrongestLayerWinsAndEveryLayerIsKept) {
  const auto config =
      config_of(sources("clusters:\n  c:\n    queue: from-user\n",
                        "clusters:\n  c: {queue: from-project}\n", {{"MUSTER_QUEUE", "from-env"}}));
  EXPECT_EQ(layers(config, "c", "queue"),
            (std::vector<std::string>{"from-env @ environment MUSTER_QUEUE",
                                      "from-project @ muster.yaml:2:14",
                                      "from-user @ config.yaml:3:12", "default @ built in"}));
  EXPECT_EQ(profile_in(config, "c").queue, "from-env");
}

TEST(Config, TheDefaultClusterIsChosenByFlagThenVariableThenFiles) {
  auto from = sources("default: u\nclusters: {u: {}, p: {}, e: {}, f: {}}\n", "default: p\n");
  EXPECT_EQ(chosen_profile(config_of(from)), "p");
  from.env["MUSTER_CLUSTER"] = "e";
  EXPECT_EQ(chosen_profile(config_of(from)), "e");
  from.cluster = "f";
  EXPECT_EQ(chosen_profile(config_of(from)), "f");
}

TEST(Config, ABaseGivesWhatTheProfileLeavesOpen) {
  const auto config = config_of(sources(
      "clusters:\n"
      "  all: {queue: slow, grace: 5s, env: {A: '1', B: '1'}, retries: {user: 2, infra: 9}}\n"
      "  mine: {_base_: all, queue: fast, env: {B: '2'}, retries: {user: 0}}\n"));
  const auto mine = profile_in(config, "mine");
  EXPECT_EQ(mine.queue, "fast");
  EXPECT_EQ(mine.grace, Duration(std::chrono::seconds(5)));
  EXPECT_EQ(mine.env, (Environment{{"A", "1"}, {"B", "2"}}));
  EXPECT_EQ(mine.retries.user, 0);
  EXPECT_EQ(mine.retries.infrastructure, 9);
  EXPECT_EQ(mine.retries.hang, 1);
}

TEST(Config, AProjectsProfileMayStandOnAUsersBase) {
  const auto config = config_of(sources("clusters: {base: {priority: 7}, mine: {queue: u}}\n",
                                        "clusters: {mine: {_base_: base, grace: 1s}}\n"));
  const auto mine = profile_in(config, "mine");
  EXPECT_EQ(mine.priority, 7);
  EXPECT_EQ(mine.queue, "u");
}

TEST(Config, ACircleOfBasesIsRefusedAndNamed) {
  const auto config =
      config_of(sources("clusters: {a: {_base_: b}, b: {_base_: c}, c: {_base_: a}}\n"));
  const auto profile = profile_of(config, "a");
  ASSERT_FALSE(profile);
  EXPECT_NE(profile.error().what.find("a -> b -> c -> a"), std::string::npos);
}

TEST(Config, ABaseOrClusterThatIsNotThereIsNamedWithTheNearest) {
  const auto config = config_of(sources("clusters: {gpu-box: {}, x: {_base_: gpu-bxo}}\n"));
  const auto base = profile_of(config, "x");
  ASSERT_FALSE(base);
  EXPECT_EQ(base.error().kind, Kind::usage);
  EXPECT_NE(base.error().where.find(":1:"), std::string::npos) << base.error().where;
  EXPECT_NE(base.error().why.find("another cluster"), std::string::npos);
  EXPECT_EQ(base.error().fix.front(), "did you mean \"gpu-box\"?");
  const auto cluster = profile_of(config, "gpubox");
  ASSERT_FALSE(cluster);
  EXPECT_EQ(cluster.error().kind, Kind::not_found);
  EXPECT_EQ(cluster.error().fix.front(), "did you mean \"gpu-box\"?");
}

TEST(Config, AnUnknownKeyIsAnErrorWithItsPlaceAndTheNearestKey) {
  const auto key = refused("clusters:\n  c:\n    prioirty: 3\n");
  EXPECT_EQ(key.where, "config.yaml:3:5");
  EXPECT_EQ(key.fix.front(), "did you mean \"priority\"?");
  EXPECT_EQ(refused("cluster: {}\n").fix.front(), "did you mean \"clusters\"?");
  const auto node = refused("clusters: {c: {nodes: [{name: n, gpu: 2}]}}\n");
  EXPECT_EQ(node.fix.front(), "did you mean \"gpus\"?");
  EXPECT_FALSE(refused("clusters: {c: {retries: {infrastructure: 2}}}\n").where.empty());
  EXPECT_FALSE(refused("clusters: {c: {env.A: 2}}\n").where.empty());
}

TEST(Config, AWrongValueIsToldAtItsPlaceEvenIfItWouldNotWin) {
  auto from = sources("clusters:\n  c: {priority: high}\n", "clusters:\n  c: {priority: 1}\n");
  const auto config = read_config(from);
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().where, "config.yaml:2:17");
  EXPECT_EQ(config.error().what.rfind("priority:", 0), 0U);
  for (const char* text :
       {"clusters: {c: {kind: slurm}}", "clusters: {c: {grace: soon}}", "clusters: {c: {queue: }}",
        "clusters: {c: {gpus: -1}}", "clusters: {c: {nodes: 3}}", "clusters: {c: {nodes: [3]}}",
        "clusters: {c: {nodes: [{count: 2}]}}", "clusters: {c: {env: [A]}}", "clusters: [c]",
        "clusters: {c: {queue: [a]}}", "clusters: {c: 5}", "default: [a]", "- a",
        "clusters: {c: {nodes: [{name: n}, {name: n}]}}",
        "clusters: {c: {nodes: [{name: n, count: 100001}]}}",
        "clusters: {c: {nodes: [{name: n, spot: yes}]}}"})
    EXPECT_EQ(refused(text).where.rfind("config.yaml:", 0), 0U) << text;
}

TEST(Config, AWrongVariableIsToldByItsName) {
  const auto config = read_config(sources("", "", {{"MUSTER_PRIORITY", "high"}}));
  ASSERT_FALSE(config);
  EXPECT_NE(config.error().where.find("MUSTER_PRIORITY"), std::string::npos);
}

TEST(Config, VariablesMayNameSeveralBudgets) {
  const auto config = config_of(sources("", "", {{"MUSTER_RETRIES", "user=1,infra=3"}}));
  const auto profile = profile_in(config, "local");
  EXPECT_EQ(profile.retries.user, 1);
  EXPECT_EQ(profile.retries.infrastructure, 3);
}

TEST(Config, KeysOfLaterVersionsAreWarnedAboutNotRefused) {
  const auto config =
      config_of(sources("stores: {s: {url: x}}\nclusters: {c: {price: i, shapes: [a]}}\n"));
  ASSERT_EQ(config.warnings.size(), 3U);
  EXPECT_EQ(config.warnings[1],
            "config.yaml:2:16: clusters.c.price is known, not used by this version");
}

TEST(Config, NodesAreReadWithEverythingTheyMaySay) {
  const auto config = config_of(
      sources("clusters: {c: {nodes: [{name: g, count: 3, cpus: 0.5, memory: 2G, gpus: 4, "
              "labels: {zone: a}, spot: true}, {name: d}]}}\n"));
  const auto nodes = profile_in(config, "c").nodes;
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].count, 3);
  EXPECT_EQ(nodes[0].cpus, MilliCpus{500});
  EXPECT_EQ(nodes[0].memory, Bytes{2LL << 30});
  EXPECT_EQ(nodes[0].gpus, 4);
  EXPECT_EQ(nodes[0].labels.at("zone"), "a");
  EXPECT_TRUE(nodes[0].is_spot);
  EXPECT_FALSE(nodes[1].cpus);
}

}  // namespace
}  // namespace muster::spec
