#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "app/cli/build.hpp"
#include "app/cli/context.hpp"
#include "app/cli/files.hpp"
#include "app/cli/parse.hpp"
#include "app/cli/paths.hpp"
#include "capture.hpp"
#include "core/model/json.hpp"
#include "edge/node/probe.hpp"

namespace muster {
namespace {

/// A folder of its own, removed at the end.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-cli-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path(const std::string& name = {}) const {
    return name.empty() ? path_ : path_ + "/" + name;
  }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name)) << text;
  }

 private:
  std::string path_;
};

TEST(Paths, OneVariableHoldsEverything) {
  const auto paths = find_paths({{"MUSTER_HOME", "/m"}, {"HOME", "/h"}}, {.dir = "/here"});
  ASSERT_TRUE(paths);
  EXPECT_EQ(paths->state, "/m");
  EXPECT_EQ(paths->config_file, "/m/config.yaml");
  EXPECT_EQ(find_paths({{"MUSTER_HOME", "rel"}}, {.dir = "/here"})->state, "/here/rel");
  EXPECT_EQ(find_paths({{"MUSTER_HOME", "/m"}}, {.home_flag = "/f", .dir = "/here"})->state, "/f");
}

TEST(Paths, WithoutItTheXdgFoldersAreUsed) {
  const auto plain = find_paths({{"HOME", "/h"}}, {.dir = "/"});
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->state, "/h/.local/state/muster");
  EXPECT_EQ(plain->config_file, "/h/.config/muster/config.yaml");
  const auto set = find_paths(
      {{"HOME", "/h"}, {"XDG_STATE_HOME", "/s"}, {"XDG_CONFIG_HOME", "rel"}, {"MUSTER_HOME", ""}},
      {.dir = "/"});
  ASSERT_TRUE(set);
  EXPECT_EQ(set->state, "/s/muster");
  EXPECT_EQ(set->config_file, "/h/.config/muster/config.yaml");
}

TEST(Paths, TheAccountsHomeIsTheLastResort) {
  const auto paths = find_paths({}, {.passwd_home = "/p", .dir = "/"});
  ASSERT_TRUE(paths);
  EXPECT_EQ(paths->state, "/p/.local/state/muster");
  const auto none = find_paths({}, {.dir = "/"});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().fix.front().find("MUSTER_HOME"), std::string::npos);
}

TEST(Context, AccountsAreFoundByNumber) {
  const char* passwd =
      "root:x:0:0:root:/root:/bin/sh\nbroken\nada:x:1000:1000::/home/ada:/bin/sh\n";
  EXPECT_EQ(find_account(passwd, 1000)->name, "ada");
  EXPECT_EQ(find_account(passwd, 0)->home, "/root");
  EXPECT_FALSE(find_account(passwd, 5));
}

TEST(Context, ReadsTheProcesssOwnEnvironment) {
  ::setenv("MUSTER_TEST_VALUE", "a=b", 1);
  EXPECT_EQ(process_environment().at("MUSTER_TEST_VALUE"), "a=b");
  ::unsetenv("MUSTER_TEST_VALUE");
  const auto context = make_bare_context({});
  EXPECT_FALSE(context.dir.empty());
  EXPECT_EQ(context.program.front(), '/');
}

TEST(ProjectFile, IsFoundUpToTheRepositorysRootAndNoFurther) {
  const Folder folder;
  folder.write("muster.yaml", "default: outside\n");
  folder.write("repo/.git/HEAD", "");
  folder.write("repo/a/b/x", "");
  EXPECT_FALSE(find_project_file(folder.path("repo/a/b")));
  folder.write("repo/muster.yaml", "default: root\n");
  EXPECT_EQ(find_project_file(folder.path("repo/a/b")), folder.path("repo/muster.yaml"));
  folder.write("repo/a/muster.yaml", "default: nearer\n");
  EXPECT_EQ(find_project_file(folder.path("repo/a/b")), folder.path("repo/a/muster.yaml"));
}

TEST(ProjectFile, OutsideARepositoryOnlyThisFolderCounts) {
  const Folder folder;
  folder.write("muster.yaml", "");
  folder.write("sub/x", "");
  EXPECT_FALSE(find_project_file(folder.path("sub")));
  EXPECT_EQ(find_project_file(folder.path()), folder.path("muster.yaml"));
}

int run_line(Capture& capture, const std::vector<std::string>& words) {
  const auto parsed = parse_command_line(words, all_verbs());
  EXPECT_TRUE(parsed);
  capture.context.globals = parsed->globals;
  const auto code = parsed->verb->run(capture.context, *parsed);
  if (!code) capture.err += to_text(code.error());
  return code ? *code : row_of(code.error().kind).exit_code;
}

TEST(ConfigVerb, ExplainsWhichLayerWins) {
  const Folder folder;
  folder.write("config.yaml", "default: box\nclusters:\n  box:\n    queue: night\n");
  Capture capture;
  capture.context.dir = folder.path();
  capture.context.paths.config_file = folder.path("config.yaml");
  capture.context.env = {{"MUSTER_QUEUE", "now"}};
  EXPECT_EQ(run_line(capture, {"config", "explain", "queue"}), 0);
  const std::string file = folder.path("config.yaml");
  EXPECT_EQ(capture.out, "KEY\tVALUE\tFROM\nqueue\tnow\tenvironment MUSTER_QUEUE\nqueue\tnight\t" +
                             file + ":4:12 (overruled)\nqueue\tdefault\tbuilt in (overruled)\n");
}

TEST(ConfigVerb, ExplainsAsARecordAndRefusesKeysNobodySets) {
  Capture capture;
  capture.context.dir = "/";
  EXPECT_EQ(run_line(capture, {"config", "explain", "retries", "-o", "json"}), 0);
  const auto record = parse_json(capture.out);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->at("settings").as_array().size(), 4U);
  EXPECT_EQ(record->at("settings").at(0).at("wins").as_bool(), true);
  Capture wrong;
  wrong.context.dir = "/";
  EXPECT_EQ(run_line(wrong, {"config", "explain", "qeue"}), 5);
  EXPECT_NE(wrong.err.find("did you mean \"queue\"?"), std::string::npos);
  EXPECT_EQ(run_line(wrong, {"config"}), 2);
}

TEST(VersionVerb, NamesTheBuild) {
  Capture capture;
  EXPECT_EQ(run_line(capture, {"version", "--json"}), 0);
  const auto record = parse_json(capture.out);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->at("build_id").as_string().size(), 40U);
  EXPECT_EQ(std::string(record->at("version").as_string()), this_build().version);
}

TEST(HelpVerb, NamesTheNearestVerb) {
  Capture capture;
  EXPECT_EQ(run_line(capture, {"help", "versoin"}), 5);
  EXPECT_NE(capture.err.find("muster help version"), std::string::npos);
}

// This machine ------------------------------------------------------------------------------------

TEST(Probe, ThisMachineHasCpusAndMemory) {
  const auto machine = node::probe_machine();
  ASSERT_TRUE(machine);
  EXPECT_GT(machine->cpus.count, 0);
  EXPECT_GT(machine->memory.count, 1 << 20);
}

node::Roots fake_machine(const Folder& folder) {
  folder.write("proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\n");
  folder.write("proc/self/cgroup", "0::/a/b\n");
  folder.write("cg/x", "");
  folder.write("dev/nvidia0", "");
  folder.write("dev/nvidia12", "");
  folder.write("dev/nvidiactl", "");
  folder.write("dev/nvidia-uvm", "");
  return {folder.path("proc"), folder.path("cg"), folder.path("dev")};
}

TEST(Probe, TheTightestCgroupOnTheWayUpCounts) {
  const Folder folder;
  const auto roots = fake_machine(folder);
  auto machine = node::probe_machine(roots);
  ASSERT_TRUE(machine);
  EXPECT_EQ(machine->memory, Bytes{16LL << 30});
  EXPECT_EQ(machine->gpus, 2);
  folder.write("cg/a/memory.max", "1073741824\n");
  folder.write("cg/a/b/memory.max", "max\n");
  folder.write("cg/a/b/cpu.max", "50000 100000\n");
  folder.write("cg/a/cpu.max", "max 100000\n");
  machine = node::probe_machine(roots);
  ASSERT_TRUE(machine);
  EXPECT_EQ(machine->memory, Bytes{1LL << 30});
  EXPECT_EQ(machine->cpus, MilliCpus{500});
}

TEST(Probe, TheOlderCgroupsAreReadToo) {
  const Folder folder;
  const auto roots = fake_machine(folder);
  folder.write("proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/c\n1:name=systemd:/\nnonsense\n");
  folder.write("cg/memory/m/memory.limit_in_bytes", "2147483648\n");
  folder.write("cg/memory/memory.limit_in_bytes", "9223372036854771712\n");
  folder.write("cg/cpu/c/cpu.cfs_quota_us", "75000\n");
  folder.write("cg/cpu/c/cpu.cfs_period_us", "100000\n");
  const auto machine = node::probe_machine(roots);
  ASSERT_TRUE(machine);
  EXPECT_EQ(machine->memory, Bytes{2LL << 30});
  EXPECT_EQ(machine->cpus, MilliCpus{750});
}

TEST(Probe, CoresComeFromTheRequestThenTheQuotaThenTheAffinity) {
  const Folder folder;
  const auto roots = fake_machine(folder);
  EXPECT_EQ(node::cores_for_job({{"MUSTER_CPUS", "6"}}, roots), 6);
  EXPECT_EQ(node::cores_for_job({{"MUSTER_CPUS", "2.5"}}, roots), 2);
  EXPECT_EQ(node::cores_for_job({{"MUSTER_CPUS", "0.50"}}, roots), 1);
  const int affinity = node::cores_for_job({{"MUSTER_CPUS", "nonsense"}}, roots);
  EXPECT_GE(affinity, 1);
  EXPECT_EQ(node::cores_for_job({}, roots), affinity);
  folder.write("cg/a/b/cpu.max", "100000 100000\n");
  EXPECT_EQ(node::cores_for_job({}, roots), 1);
}

TEST(Probe, AMachineIsOneNodeLessItsReserve) {
  const node::Machine machine{MilliCpus{8000}, Bytes{100}, 2};
  const auto nodes = node::machine_nodes(machine, spec::Profile{});
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_EQ(nodes[0].name.str(), "local");
  EXPECT_EQ(nodes[0].memory, Bytes{95});
  EXPECT_EQ(nodes[0].gpus, 2);
}

TEST(Probe, AProfilesNodesAreCountedOutAndShareTheMachine) {
  const node::Machine machine{MilliCpus{8000}, Bytes{4000}, 2};
  spec::Profile profile;
  profile.name = "virtual";
  profile.nodes = {spec::NodeGroup{.name = "g", .count = 3, .memory = Bytes{200}, .gpus = 8},
                   spec::NodeGroup{.name = "d", .is_spot = true}};
  const auto nodes = node::machine_nodes(machine, profile);
  ASSERT_EQ(nodes.size(), 4U);
  EXPECT_EQ(nodes[2].name.str(), "g-2");
  EXPECT_EQ(nodes[2].cluster, "virtual");
  EXPECT_EQ(nodes[2].gpus, 8);
  EXPECT_EQ(nodes[2].memory, Bytes{190});
  EXPECT_EQ(nodes[2].cpus, MilliCpus{2000});
  EXPECT_EQ(nodes[3].name.str(), "d-0");
  EXPECT_EQ(nodes[3].memory, Bytes{950});
  EXPECT_EQ(nodes[3].gpus, 0);
  EXPECT_TRUE(nodes[3].is_spot);
}

}  // namespace
}  // namespace muster
