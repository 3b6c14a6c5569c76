// What happens when the shim, the zygote or the server dies, in both tiers.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <csignal>
#include <cstring>
#include <filesystem>

#include "base/text.hpp"
#include "edge/process/files.hpp"
#include "edge/process/lines.hpp"
#include "lab.hpp"

namespace muster::process::testing {
namespace {

using namespace std::chrono_literals;

using Deaths = InBothTiers;
MUSTER_IN_BOTH_TIERS(Deaths);

/// Children of this process that go by the zygote's name.
std::vector<ProcessId> zygotes() {
  std::vector<ProcessId> found;
  for (const auto& row : all_processes())
    if (row.parent == ::getpid() && row.state != 'Z' &&
        content_of(fmt::format("/proc/{}/comm", row.id.pid)) == "muster-zygote\n")
      found.push_back(row.id);
  return found;
}

std::string ask(const std::string& dir, const std::string& line) {
  const auto dir_fd = open_dir(dir);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto path = short_name(dir_fd->get(), "ctl");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return "no ctl";
  LineChannel channel(std::move(fd));
  channel.send(line);
  std::string answers;
  eventually([&] {
    for (const auto& one : channel.receive()) answers += one + "\n";
    return std::count(answers.begin(), answers.end(), '\n') >= 2;
  });
  return answers;
}

TEST_P(Deaths, AKilledShimTakesItsWholeTreeAlongAndTheAttemptIsLost) {
  const auto job = lab.plan("shim", {self_path(), "tool", "hostile", "30"});
  lab.launch(job);
  ASSERT_TRUE(eventually([&] { return lab.file(job, "rank-00000.out") == "ready\n"; }));
  const auto shim = lab.shim_of(job);
  ASSERT_TRUE(send_signal(shim, SIGKILL));
  const auto lost = lab.wait_lost(job);
  EXPECT_EQ(lost.cause, Cause::lost);
  EXPECT_NE(lost.evidence.find(fmt::format("the supervisor (pid {}) disappeared", shim.pid)),
            std::string::npos)
      << lost.evidence;
  EXPECT_TRUE(processes_with(lab.tag()).empty()) << "lost means that nothing is left";
}

TEST_P(Deaths, OneShimOfAGangDiesAndTheOtherNodeIsLeftAlone) {
  auto job = lab.shell("half", "echo up; while :; do sleep 0.05; done");
  job.nodes.push_back({.index = 1, .ranks = {{1, 0, {{"RANK", "1"}}}}});
  lab.launch(job);
  ASSERT_TRUE(eventually([&] { return lab.file(job, "rank-00001.out", 1) == "up\n"; }));
  ASSERT_TRUE(eventually([&] { return lab.file(job, "rank-00000.out", 0) == "up\n"; }));
  ASSERT_TRUE(send_signal(lab.shim_of(job), SIGKILL));
  EXPECT_EQ(lab.wait_lost(job).cause, Cause::lost);
  EXPECT_TRUE(std::holds_alternative<Alive>(lab.sight(job, 1)));
  lab.stop(job, 0ms, "gang");
  EXPECT_EQ(lab.wait_ended(job, 1).killed_by, "gang");
}

TEST_P(Deaths, AShimThatDiedWhileNoServerWatchedIsFoundLost) {
  const auto job = lab.plan("unwatched", {self_path(), "tool", "hostile", "10"});
  lab.launch(job);
  ASSERT_TRUE(eventually([&] { return lab.file(job, "rank-00000.out") == "ready\n"; }));
  const auto shim = lab.shim_of(job);
  lab.end_server();
  ASSERT_TRUE(send_signal(shim, SIGKILL));
  ASSERT_TRUE(eventually([&] { return is_gone(shim); }));
  EXPECT_EQ(lab.wait_lost(job).cause, Cause::lost);
  EXPECT_TRUE(processes_with(lab.tag()).empty());
}

TEST_P(Deaths, AKilledZygoteCostsNothing) {
  const auto before = lab.shell("before", "echo up; sleep 0.5; echo end");
  lab.launch(before);
  ASSERT_TRUE(lab.wait_running(before));
  const auto found = zygotes();
  ASSERT_EQ(found.size(), 1U);
  ASSERT_TRUE(send_signal(found[0], SIGKILL));
  const auto after = lab.shell("after", "echo ran");
  eventually([&] {  // a launch that was caught in the middle is not started, and is asked for again
    lab.launch(after);
    return std::holds_alternative<Ended>(lab.sight(after));
  });
  EXPECT_EQ(lab.wait_ended(after).ranks.at(0).exit, 0);
  EXPECT_EQ(lab.wait_ended(before).ranks.at(0).exit, 0);
  EXPECT_EQ(lab.file(before, "rank-00000.out"), "up\nend\n");
}

TEST_P(Deaths, AServerThatGoesDoesNotDisturbTheJobAndTheNextOneHearsItsEnd) {
  const auto job =
      lab.shell("on", "echo up; while [ ! -e go ]; do sleep 0.02; done; echo end; exit 3");
  lab.launch(job);
  ASSERT_TRUE(lab.wait_running(job));
  lab.end_server();
  const auto now = lab.sight(job);  // a new one
  ASSERT_TRUE(std::holds_alternative<Alive>(now)) << now.index();
  EXPECT_TRUE(lab.wait_running(job));  // as soon as its supervisor has said so
  ASSERT_TRUE(write_renamed(AT_FDCWD, lab.home() + "/go", ""));
  EXPECT_EQ(lab.wait_ended(job).ranks.at(0).exit, 3);
  EXPECT_EQ(lab.file(job, "rank-00000.out"), "up\nend\n");
}

TEST_P(Deaths, ANewServerCanStopWhatAnOldOneStarted) {
  const auto job =
      lab.shell("adopted", "trap 'exit 5' TERM; echo up; while :; do sleep 0.02; done");
  lab.launch(job);
  ASSERT_TRUE(eventually([&] { return lab.file(job, "rank-00000.out") == "up\n"; }));
  lab.end_server();
  lab.stop(job, 20s);  // without having looked first
  const auto record = lab.wait_ended(job);
  EXPECT_EQ(record.ranks.at(0).exit, 5);
  EXPECT_EQ(record.killed_by, "abort");
}

TEST_P(Deaths, AJobThatEndsWithoutAServerLeavesItsRecord) {
  const auto job = lab.shell("alone", "while [ ! -e go ]; do sleep 0.02; done; exit 8");
  lab.launch(job);
  ASSERT_TRUE(lab.wait_running(job));
  const auto shim = lab.shim_of(job);
  lab.end_server();
  ASSERT_TRUE(write_renamed(AT_FDCWD, lab.home() + "/go", ""));
  ASSERT_TRUE(eventually([&] { return is_gone(shim); })) << "it does not wait for ever";
  EXPECT_EQ(lab.wait_ended(job).ranks.at(0).exit, 8);
  EXPECT_FALSE(std::filesystem::exists(lab.path(job, "ctl")));
}

TEST_P(Deaths, ALaunchRepeatedByANewServerFindsTheOldOne) {
  const auto job = lab.shell("repeat", "echo ran >> count; while [ ! -e go ]; do sleep 0.02; done");
  lab.launch(job);
  ASSERT_TRUE(lab.wait_running(job));
  lab.end_server();
  lab.launch(job);
  ASSERT_TRUE(lab.wait_running(job));
  ASSERT_TRUE(write_renamed(AT_FDCWD, lab.home() + "/go", ""));
  EXPECT_EQ(lab.wait_ended(job).ranks.at(0).exit, 0);
  EXPECT_EQ(content_of(lab.home() + "/count"), "ran\n");
}

TEST_P(Deaths, FiftyAttemptsAreTakenOverByTheNextServer) {
  std::vector<Plan> jobs;
  for (int i = 0; i < 50; ++i)
    jobs.push_back(lab.shell(fmt::format("many{}", i), "while [ ! -e go ]; do sleep 0.2; done"));
  for (const auto& job : jobs) lab.launch(job);
  for (const auto& job : jobs) ASSERT_TRUE(lab.wait_running(job));
  lab.end_server();
  for (const auto& job : jobs) EXPECT_TRUE(std::holds_alternative<Alive>(lab.sight(job)));
  ASSERT_TRUE(write_renamed(AT_FDCWD, lab.home() + "/go", ""));
  for (const auto& job : jobs) EXPECT_EQ(lab.wait_ended(job).ranks.at(0).exit, 0);
}

TEST_P(Deaths, AnOrphanedShimAnswersOnItsSocketAndSaysWhatItDoesNotKnow) {
  const auto job = lab.shell("ctl", "echo up; while :; do sleep 0.05; done");
  lab.launch(job);
  ASSERT_TRUE(lab.wait_running(job));
  lab.end_server();
  const auto dir = std::filesystem::path(lab.path(job, "x")).parent_path().string();
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(dir + "/ctl"); }));
  EXPECT_EQ(std::filesystem::status(dir + "/ctl").permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::string answers;
  eventually([&] {  // it is there a moment before it listens
    answers = ask(dir, R"({"v":1,"do":"dance"})");
    return answers != "no ctl";
  });
  EXPECT_NE(answers.find(R"("say":"running")"), std::string::npos) << answers;
  EXPECT_NE(answers.find(R"("say":"unsupported","do":"dance")"), std::string::npos) << answers;
  lab.stop(job, 0ms);
  EXPECT_EQ(lab.wait_ended(job).killed_by, "abort");
}

TEST_P(Deaths, AShutdownOfTheMachineIsPassedOnToTheJob) {
  const auto job = lab.shell("down", "trap 'exit 7' TERM; echo up; while :; do sleep 0.05; done");
  lab.launch(job);
  ASSERT_TRUE(eventually([&] { return lab.file(job, "rank-00000.out") == "up\n"; }));
  const auto shim = lab.shim_of(job);
  ASSERT_TRUE(send_signal(shim, SIGHUP));  // the end of a session is not
  ASSERT_TRUE(send_signal(shim, SIGTERM));
  const auto record = lab.wait_ended(job);
  EXPECT_EQ(record.ranks.at(0).exit, 7);
  EXPECT_EQ(record.killed_by, "shutdown");
}

TEST_P(Deaths, AProgramThatIsNoZygoteIsGivenUpOnAfterAFewTries) {
  lab.use_binary("/bin/true");
  const auto job = lab.shell("never", "echo ran");
  std::optional<Lost> lost;
  EXPECT_TRUE(eventually([&] {
    const auto now = lab.sight(job);
    if (std::holds_alternative<NotStarted>(now)) lab.launch(job);
    if (const auto* seen = std::get_if<Lost>(&now)) lost = *seen;
    return lost.has_value();
  }));
  EXPECT_EQ(lost->cause, Cause::never_started);
}

}  // namespace
}  // namespace muster::process::testing
