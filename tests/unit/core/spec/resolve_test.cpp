#include "core/spec/resolve.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster::spec {
namespace {

std::vector<Node> nodes_with(int gpus, int count = 1) {
  std::vector<Node> nodes;
  for (int i = 0; i < count; ++i)
    nodes.push_back(Node{.name = NodeName(fmt::format("n-{}", i)), .gpus = gpus});
  return nodes;
}

Submitter person() {
  return {.user = "ada", .dir = "/home/ada", .env = {{"PATH", "/bin"}}, .limits = {}};
}

SubmitOptions command(std::vector<std::string> words = {"true"}) {
  SubmitOptions options;
  options.command = std::move(words);
  return options;
}

Result<ResolvedJob> resolved(const SubmitOptions& options, const Profile& profile = {},
                             const Submitter& submitter = person()) {
  return resolve(options, profile, nodes_with(0), submitter);
}

struct Row {
  int per_node;
  std::optional<int> n, nodes, procs_per_node, procs;
  bool single;
  Request expected;
};

TEST(Resolve, TheArithmeticOfGpusNodesAndProcesses) {
  const std::optional<int> no;
  const Row rows[] = {
      // per_node, -n, --nodes, --procs-per-node, --procs, --single -> nodes, procs, gpus
      {8, 1, no, no, no, false, {1, 1, 1}},  {8, 4, no, no, no, false, {1, 4, 4}},
      {8, 8, no, no, no, false, {1, 8, 8}},  {8, 16, no, no, no, false, {2, 8, 8}},
      {8, 64, no, no, no, false, {8, 8, 8}}, {8, 0, no, no, no, false, {1, 1, 0}},
      {8, 8, no, no, no, true, {1, 1, 8}},   {8, 16, no, no, no, true, {2, 1, 8}},
      {8, 8, 2, no, no, false, {2, 4, 4}},   {8, 8, no, 1, no, false, {1, 1, 8}},
      {8, 16, no, 4, no, false, {2, 4, 8}},  {8, no, no, no, no, false, {1, 1, 1}},
      {8, no, 2, no, no, false, {2, 1, 1}},  {8, no, 2, 4, no, false, {2, 4, 4}},
      {8, no, no, no, 4, false, {1, 4, 0}},  {0, no, no, no, no, false, {1, 1, 0}},
      {0, no, no, no, 6, false, {1, 6, 0}},  {0, no, 3, no, 6, false, {3, 2, 0}},
      {0, no, 3, 2, no, false, {3, 2, 0}},   {0, 0, 2, no, no, false, {2, 1, 0}},
  };
  int at = 0;
  for (const auto& row : rows) {
    auto options = command();
    options.gpus = row.n;
    options.nodes = row.nodes;
    options.procs_per_node = row.procs_per_node;
    options.procs = row.procs;
    options.single = row.single;
    const auto request = resolve_request(options, {}, nodes_with(row.per_node, 2));
    ASSERT_TRUE(request) << "row " << at << ": " << to_text(request.error());
    EXPECT_EQ(request->nodes, row.expected.nodes) << "row " << at;
    EXPECT_EQ(request->procs_per_node, row.expected.procs_per_node) << "row " << at;
    EXPECT_EQ(request->gpus_per_node, row.expected.gpus_per_node) << "row " << at;
    EXPECT_EQ(request->cpus_per_node.count, 1000 * row.expected.procs_per_node) << "row " << at;
    ++at;
  }
}

TEST(Resolve, MoreThanANodeMustFillNodesAndTheNearestMultiplesAreNamed) {
  auto options = command();
  options.gpus = 12;
  const auto request = resolve_request(options, {}, nodes_with(8, 4));
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().kind, Kind::usage);
  EXPECT_EQ(request.error().fix.front(), "use -n 8 or -n 16");
}

TEST(Resolve, GpusOnAMachineWithoutAnyAreRefusedNamingProcs) {
  auto options = command();
  options.gpus = 4;
  const auto request = resolve_request(options, {}, nodes_with(0));
  ASSERT_FALSE(request);
  EXPECT_NE(request.error().fix.front().find("--procs 4"), std::string::npos);
}

TEST(Resolve, TheProfileSaysHowManyGpusWhenNobodyElseDoes) {
  Profile profile;
  profile.gpus = 16;
  profile.gpus_per_node = 8;
  const auto request = resolve_request(command(), profile, {});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->nodes, 2);
  auto fewer = command();
  fewer.gpus = 2;
  EXPECT_EQ(resolve_request(fewer, profile, {})->ranks(), 2);
}

TEST(Resolve, WordsThatContradictEachOtherAreRefused) {
  const auto refused = [](auto change) {
    auto options = command();
    change(options);
    const auto request = resolve_request(options, {}, nodes_with(8, 4));
    return !request && request.error().kind == Kind::usage && !request.error().fix.empty();
  };
  EXPECT_TRUE(refused([](auto& o) { o.gpus = 2, o.procs = 2; }));
  EXPECT_TRUE(refused([](auto& o) { o.procs = 2, o.procs_per_node = 2; }));
  EXPECT_TRUE(refused([](auto& o) { o.procs = 2, o.single = true; }));
  EXPECT_TRUE(refused([](auto& o) { o.gpus = 8, o.single = true, o.procs_per_node = 2; }));
  EXPECT_TRUE(refused([](auto& o) { o.gpus = 7, o.nodes = 2; }));
  EXPECT_TRUE(refused([](auto& o) { o.gpus = 32, o.nodes = 2; }));
  EXPECT_TRUE(refused([](auto& o) { o.procs = 7, o.nodes = 2; }));
}

RC_GTEST_PROP(Resolve, WhatIsAcceptedAddsUp, ()) {
  const int per_node = *rc::gen::inRange(1, 17);
  const int n = *rc::gen::inRange(0, 200);
  auto options = command();
  options.gpus = n;
  options.single = *rc::gen::arbitrary<bool>();
  const auto request = resolve_request(options, {}, nodes_with(per_node));
  const bool fits = n <= per_node || n % per_node == 0;
  RC_ASSERT(request.has_value() == fits);
  if (!request) return;
  RC_ASSERT(request->nodes * request->gpus_per_node == n);
  RC_ASSERT(request->gpus_per_node <= per_node);
  RC_ASSERT(request->procs_per_node == (options.single || n == 0 ? 1 : request->gpus_per_node));
}

TEST(Resolve, CpusArePerProcessAndMemoryIsPerNode) {
  auto options = command();
  options.procs = 4;
  options.cpus = MilliCpus{1500};
  options.memory = Bytes{1 << 30};
  const auto request = resolve_request(options, {}, nodes_with(0));
  ASSERT_TRUE(request);
  EXPECT_EQ(request->cpus_per_node, MilliCpus{6000});
  EXPECT_EQ(request->memory_per_node, Bytes{1 << 30});
}

TEST(Resolve, AbsurdSizesAreRefusedWithoutOverflow) {
  auto options = command();
  options.procs_per_node = 1'000'000;
  options.nodes = 100'000;
  EXPECT_FALSE(resolve_request(options, {}, nodes_with(0)));
  options.nodes = 1;
  options.cpus = MilliCpus{1'000'000'000};
  EXPECT_FALSE(resolve_request(options, {}, nodes_with(0)));
}

TEST(Resolve, TheCommandIsKeptByteForByte) {
  const std::vector<std::string> words{"./run", "", " a  b ", "new\nline", "\xff\x01", "--", "$X"};
  const auto job = resolved(command(words));
  ASSERT_TRUE(job);
  EXPECT_EQ(job->spec.command, words);
  EXPECT_FALSE(job->spec.shell);
  EXPECT_EQ(job->spec.signal_to, SignalTo::main);
}

TEST(Resolve, ShellTextBecomesAShellWhoseGroupIsTold) {
  auto options = command({});
  options.shell = "a | b";
  const auto job = resolved(options);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->spec.command, (std::vector<std::string>{"/bin/sh", "-c", "a | b"}));
  EXPECT_TRUE(job->spec.shell);
  EXPECT_EQ(job->spec.signal_to, SignalTo::group);
  options.command = {"true"};
  EXPECT_FALSE(resolved(options));
}

TEST(Resolve, AnEmptyCommandIsRefused) {
  EXPECT_FALSE(resolved(command({})));
  EXPECT_FALSE(resolved(command({"", "x"})));
}

TEST(Resolve, AnArgumentLongerThanTheSystemTakesIsRefusedNamingTheLimit) {
  EXPECT_TRUE(resolved(command({"x", std::string(kLongestArgument, 'a')})));
  const auto job = resolved(command({"x", std::string(kLongestArgument + 1, 'a')}));
  ASSERT_FALSE(job);
  EXPECT_NE(job.error().what.find("131071"), std::string::npos) << job.error().what;
}

TEST(Resolve, TooManyArgumentsAreRefusedByTheStackLimit) {
  const std::vector<std::string> many(30, std::string(100'000, 'a'));
  EXPECT_FALSE(resolved(command(many)));  // 3 MB against a quarter of 8 MiB
  auto submitter = person();
  submitter.limits["stack"] = 16LL << 20;
  EXPECT_TRUE(resolved(command(many), {}, submitter));
  submitter.limits["stack"] = -1;
  EXPECT_TRUE(resolved(command(many), {}, submitter));
  EXPECT_FALSE(
      resolved(command(std::vector<std::string>(70, std::string(100'000, 'a'))), {}, submitter));
}

TEST(Resolve, AHugeVariableIsRefusedByName) {
  auto submitter = person();
  submitter.env["BIG"] = std::string(200'000, 'x');
  const auto job = resolved(command(), {}, submitter);
  ASSERT_FALSE(job);
  EXPECT_NE(job.error().what.find("BIG"), std::string::npos);
}

TEST(Resolve, AJobInsideAJobDoesNotInheritItsRanks) {
  auto submitter = person();
  submitter.env = {{"PATH", "/bin"},
                   {"RANK", "3"},
                   {"WORLD_SIZE", "8"},
                   {"MASTER_PORT", "1"},
                   {"MUSTER_JOB_ID", "up_1"},
                   {"MUSTER_NODE", "n"},
                   {"MUSTER_HOME", "/h"},
                   {"MUSTER_PRESTEP", "p"},
                   {"CUDA_VISIBLE_DEVICES", "3"}};
  const auto job = resolved(command(), {}, submitter);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->env,
            (Environment{{"PATH", "/bin"}, {"MUSTER_HOME", "/h"}, {"MUSTER_PRESTEP", "p"}}));
  EXPECT_EQ(job->spec.parent, "up_1");
}

TEST(Resolve, APersonsOwnChoiceOfGpusStays) {
  EXPECT_EQ(job_environment({{"CUDA_VISIBLE_DEVICES", "1"}}, {}).count("CUDA_VISIBLE_DEVICES"), 1U);
}

TEST(Resolve, ExplicitVariablesWinOverTheProfilesAndTheShells) {
  Profile profile;
  profile.env = {{"A", "profile"}, {"B", "profile"}};
  auto submitter = person();
  submitter.env = {{"A", "shell"}, {"B", "shell"}, {"C", "shell"}, {"D", "shell"}};
  auto options = command();
  options.env = {{"B", "flag"}, {"C", std::nullopt}};
  const auto job = resolved(options, profile, submitter);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->env,
            (Environment{{"A", "profile"}, {"B", "flag"}, {"C", "shell"}, {"D", "shell"}}));
  EXPECT_EQ(job->spec.env_names, (std::vector<std::string>{"A", "B", "C"}));
}

TEST(Resolve, OnAClusterOnlyExplicitVariablesTravel) {
  Profile profile;
  profile.kind = "kube";
  profile.context = "c";
  profile.pod.image = "i";
  auto options = command();
  options.env = {{"A", "1"}};
  const auto job = resolved(options, profile);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->env, (Environment{{"A", "1"}}));
}

TEST(Resolve, AVariableThatIsNotSetHereIsRefusedAndOneOfOursIsWarnedAbout) {
  auto options = command();
  options.env = {{"NOT_SET", std::nullopt}};
  EXPECT_FALSE(resolved(options));
  options.env = {{"RANK", "3"}};
  const auto job = resolved(options);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->warnings.size(), 1U);
}

TEST(Resolve, TheSameRequestHasTheSameHashAndAnyChangeAnother) {
  const auto hash = [](auto change, Profile profile = {}) {
    auto options = command({"a", "bc"});
    change(options);
    auto job = resolved(options, profile);
    EXPECT_TRUE(job);
    return job ? job->spec.request_hash : std::string();
  };
  const auto base = hash([](auto&) {});
  EXPECT_EQ(base.size(), 64U);
  EXPECT_EQ(hash([](auto& o) { o.name = "other", o.priority = 3; }), base);
  EXPECT_NE(hash([](auto& o) { o.command = {"ab", "c"}; }), base);
  EXPECT_NE(hash([](auto& o) { o.command = {"a", "bc", ""}; }), base);
  EXPECT_NE(hash([](auto& o) { o.procs = 2; }), base);
  EXPECT_NE(hash([](auto& o) { o.memory = Bytes{1 << 30}; }), base);
  EXPECT_NE(hash([](auto& o) { o.env = {{"A", "1"}}; }), base);
  Profile elsewhere;
  elsewhere.name = "elsewhere";
  EXPECT_NE(hash([](auto&) {}, elsewhere), base);
}

TEST(Resolve, FlagsOverruleTheProfile) {
  Profile profile;
  profile.queue = "slow";
  profile.grace = std::chrono::seconds(5);
  profile.retries.user = 4;
  auto options = command();
  options.retries.infrastructure = 1;
  options.priority = 9;
  const auto job = resolved(options, profile);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->spec.queue, "slow");
  EXPECT_EQ(job->spec.grace, Duration(std::chrono::seconds(5)));
  EXPECT_EQ(job->spec.retries.user, 4);
  EXPECT_EQ(job->spec.retries.infrastructure, 1);
  EXPECT_EQ(job->spec.priority, 9);
}

TEST(Resolve, AQueueThatNobodyNamedIsRefused) {
  Profile profile;
  profile.queue = "slow";
  auto options = command();
  for (const char* queue : {"default", "slow"}) {
    options.queue = queue;
    ASSERT_TRUE(resolved(options, profile)) << queue;
    EXPECT_EQ(resolved(options, profile)->spec.queue, queue);
  }
  const auto refused = resolved(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Kind::usage);
  EXPECT_NE(refused.error().fix.at(0).find("\"default\""), std::string::npos);
}

TEST(Resolve, ANameIsAWordThatAShellLeavesAlone) {
  auto options = command({"true"});
  for (const char* name : {"-x", "$(id)", "a b", "a\nb", "it's", "*", ""}) {
    options.name = name;
    EXPECT_FALSE(resolved(options)) << name;
  }
  for (const char* name : {"lr=0.1,seed:3", "größe", "a+b@c", "train-1.2_x"}) {
    options.name = name;
    EXPECT_TRUE(resolved(options)) << name;
  }
}

TEST(Resolve, EveryProgramGivesANameThatMayBeOne) {
  for (const char* program : {"[", "./-x", "/opt/@tool", "\xc3\xbcnder", "$(id)", "--"}) {
    const auto job = resolved(command({program}));
    ASSERT_TRUE(job) << program;
    EXPECT_NE(job->spec.name.front(), '-') << program;
  }
}

TEST(Resolve, AJobIsNamedAfterItsScriptUnlessSaid) {
  EXPECT_EQ(resolved(command({"python3", "-u", "src/train.py", "--lr", "1"}))->spec.name, "train");
  EXPECT_EQ(resolved(command({"/usr/bin/sleep", "5"}))->spec.name, "sleep");
  EXPECT_EQ(resolved(command({"/opt/a b\xff"}))->spec.name, "a-b-");
  auto options = command();
  options.name = "two words";
  EXPECT_FALSE(resolved(options));
}

TEST(Resolve, AFolderIsAbsoluteOrRelativeToThePersons) {
  auto options = command();
  EXPECT_EQ(resolved(options)->spec.dir, "/home/ada");
  options.dir = "sub";
  EXPECT_EQ(resolved(options)->spec.dir, "/home/ada/sub");
  options.dir = "/data";
  EXPECT_EQ(resolved(options)->spec.dir, "/data");
  Submitter unknown;
  options.dir = "sub";
  EXPECT_FALSE(resolved(options, {}, unknown));
}

}  // namespace
}  // namespace muster::spec
