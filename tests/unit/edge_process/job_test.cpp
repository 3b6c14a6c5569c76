// Jobs from launch to record, in both tiers.
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/hash.hpp"
#include "edge/process/attempt_dir.hpp"
#include "edge/process/zygote_client.hpp"
#include "lab.hpp"

namespace muster::process::testing {
namespace {

using namespace std::chrono_literals;

using Jobs = InBothTiers;
MUSTER_IN_BOTH_TIERS(Jobs);

std::string hash_of(const std::string& bytes) {
  Xxh3 hash;
  hash.feed(bytes);
  return hash.hex();
}

TEST_P(Jobs, ARunGivesItsOutputItsCodeAndARecord) {
  const auto job = lab.shell("ok", "echo out; echo err >&2; exit 3");
  lab.launch(job);
  const auto record = lab.wait_ended(job);
  ASSERT_EQ(record.ranks.size(), 1U);
  EXPECT_EQ(record.ranks[0].exit, 3);
  EXPECT_EQ(record.ranks[0].signal, 0);
  EXPECT_EQ(record.killed_by, "");
  EXPECT_EQ(lab.file(job, "rank-00000.out"), "out\n");
  EXPECT_EQ(lab.file(job, "rank-00000.err"), "err\n");
  EXPECT_EQ(record.ranks[0].out_bytes, 4);
  EXPECT_EQ(record.ranks[0].out_xxh3, hash_of("out\n"));
  EXPECT_GT(record.ranks[0].cpu_us, 0);
  EXPECT_GT(record.ranks[0].ended_run_us, 0);
  EXPECT_NE(lab.file(job, "exit.json").find("\"epoch\":7"), std::string::npos);
  EXPECT_NE(
      lab.file(job, "shim.json").find(GetParam() == TierChoice::none ? "\"none\"" : best_tier()),
      std::string::npos);
}

TEST_P(Jobs, ASignalIsRecordedAsOne) {
  const auto job = lab.shell("sig", "kill -SEGV $$");
  lab.launch(job);
  EXPECT_EQ(lab.wait_ended(job).ranks.at(0).signal, SIGSEGV);
}

TEST_P(Jobs, RanksThatEndBecauseTheyWereStoppedAreNotReportedAsFailed) {
  const auto job = lab.shell("calm", "[ $RANK = 0 ] || trap '' TERM; echo up; sleep 1000", 2);
  lab.launch(job);
  for (const auto* name : {"rank-00000.out", "rank-00001.out"})
    ASSERT_TRUE(eventually([&] { return lab.file(job, name) == "up\n"; }));
  lab.stop(job, 200ms);
  bool was_reported = false;
  EXPECT_TRUE(eventually([&] {
    const auto now = lab.sight(job);
    const auto* alive = std::get_if<Alive>(&now);
    was_reported = was_reported || (alive != nullptr && alive->failed_rank >= 0);
    return std::holds_alternative<Ended>(now);
  }));
  EXPECT_FALSE(was_reported);
  const auto record = lab.wait_ended(job);
  EXPECT_EQ(record.ranks.at(0).signal, SIGTERM);
  EXPECT_EQ(record.ranks.at(1).signal, SIGKILL);
}

TEST_P(Jobs, AProgramThatCannotRunEndsWithTheShellsCodeAndAText) {
  const auto job = lab.plan("missing", {"trian.py"});
  lab.launch(job);
  const auto record = lab.wait_ended(job);
  EXPECT_EQ(record.ranks.at(0).exit, 127);
  EXPECT_EQ(record.why, "no such program: trian.py (not in the 3 folders of PATH)");
}

TEST_P(Jobs, EveryRankHasItsOwnVariablesAndLogs) {
  const auto job = lab.shell("ranks", "echo $RANK $MUSTER_JOB_ID $MUSTER_ATTEMPT", 3);
  lab.launch(job);
  EXPECT_EQ(lab.wait_ended(job).ranks.size(), 3U);
  EXPECT_EQ(lab.file(job, "rank-00000.out"), "0 me_1_ranks 1\n");
  EXPECT_EQ(lab.file(job, "rank-00002.out"), "2 me_1_ranks 1\n");
}

TEST_P(Jobs, TermComesFirstAndAnOrderlyEndIsKept) {
  const auto job =
      lab.shell("term", "trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.05; done");
  lab.launch(job);
  ASSERT_TRUE(eventually([&] { return lab.file(job, "rank-00000.out") == "up\n"; }));
  lab.stop(job, 20s);
  const auto record = lab.wait_ended(job);
  EXPECT_EQ(record.ranks.at(0).exit, 5);
  EXPECT_EQ(record.killed_by, "abort");
  EXPECT_EQ(lab.file(job, "rank-00000.out"), "up\nbye\n");
}

TEST_P(Jobs, AfterTheGraceComesKill) {
  const auto job = lab.shell("kill", "trap '' TERM; echo up; while :; do sleep 0.05; done");
  lab.launch(job);
  ASSERT_TRUE(eventually([&] { return lab.file(job, "rank-00000.out") == "up\n"; }));
  lab.stop(job, 50ms);
  const auto record = lab.wait_ended(job);
  EXPECT_EQ(record.ranks.at(0).signal, SIGKILL);
  EXPECT_EQ(record.killed_by, "abort");
}

TEST_P(Jobs, ASecondStopShortensTheGraceAndTheFirstReasonStands) {
  const auto job = lab.shell("short", "trap '' TERM; echo up; while :; do sleep 0.05; done");
  lab.launch(job);
  ASSERT_TRUE(eventually([&] { return lab.file(job, "rank-00000.out") == "up\n"; }));
  lab.stop(job, 1h, "gang");
  lab.stop(job, 0ms, "abort");
  const auto record = lab.wait_ended(job);
  EXPECT_EQ(record.ranks.at(0).signal, SIGKILL);
  EXPECT_EQ(record.killed_by, "gang");
}

TEST_P(Jobs, AStoppedProcessStillHearsTerm) {
  const auto job = lab.shell(
      "stopped", "trap 'exit 6' TERM; echo up; kill -STOP $$; while :; do sleep 0.05; done");
  lab.launch(job);
  ASSERT_TRUE(eventually([&] { return lab.file(job, "rank-00000.out") == "up\n"; }));
  lab.stop(job, 20s);
  EXPECT_EQ(lab.wait_ended(job).ranks.at(0).exit, 6);
}

TEST_P(Jobs, SignalsGoToTheGroupOrToAllWhenAskedFor) {
  const std::string script =
      "(trap 'echo child; exit' TERM; echo up; while :; do sleep 0.05; done) & "
      "trap 'wait; exit 0' TERM; wait";
  for (const auto to : {SignalTo::group, SignalTo::all}) {
    auto job = lab.shell(to == SignalTo::group ? "group" : "all", script);
    job.signal_to = to;
    lab.launch(job);
    ASSERT_TRUE(eventually([&] { return lab.file(job, "rank-00000.out") == "up\n"; }));
    lab.stop(job, 20s);
    EXPECT_EQ(lab.wait_ended(job).ranks.at(0).exit, 0);
    EXPECT_EQ(lab.file(job, "rank-00000.out"), "up\nchild\n");
  }
}

TEST_P(Jobs, TheTimeLimitEndsAJobByItself) {
  auto job = lab.shell("limit", "while :; do sleep 0.05; done");
  job.time_limit = 100ms;
  job.grace = 10s;
  lab.launch(job);
  const auto record = lab.wait_ended(job);
  EXPECT_EQ(record.killed_by, "time_limit");
  EXPECT_EQ(record.ranks.at(0).signal, SIGTERM);
}

/// Rank 1 fails once rank 0 is ready for TERM.
std::string failing_second(const std::string& trap) {
  return "if [ $RANK = 1 ]; then while [ ! -e ready ]; do sleep 0.01; done; exit 9; fi; " + trap +
         "; : > ready; while :; do sleep 0.05; done";
}

TEST_P(Jobs, OneFailedRankTakesTheOthersAlong) {
  const auto job = lab.shell("gang", failing_second("trap 'exit 0' TERM"), 2);
  lab.launch(job);
  const auto record = lab.wait_ended(job);
  EXPECT_EQ(record.ranks.at(1).exit, 9);
  EXPECT_EQ(record.ranks.at(0).exit, 0);
  EXPECT_EQ(record.ranks.at(0).signal, 0);
  EXPECT_EQ(record.killed_by, "") << "nobody asked for it";
  EXPECT_LT(record.ranks[1].ended_run_us, record.ranks[0].ended_run_us);
}

TEST_P(Jobs, AFailedRankIsSeenBeforeTheNodeHasEnded) {
  const auto job = lab.shell("early", failing_second("trap '' TERM"), 2);
  lab.launch(job);
  EXPECT_TRUE(eventually([&] {
    const auto now = lab.sight(job);
    const auto* alive = std::get_if<Alive>(&now);
    return alive != nullptr && alive->failed_rank == 1;
  }));
  lab.stop(job, 0ms, "gang");
  EXPECT_EQ(lab.wait_ended(job).ranks.at(0).signal, SIGKILL);
}

TEST_P(Jobs, ARankThatEndsWellIsNoReasonToStopTheOthers) {
  const auto job = lab.shell("well", "[ $RANK = 0 ] || { sleep 0.2; echo late; }", 2);
  lab.launch(job);
  EXPECT_EQ(lab.wait_ended(job).ranks.at(1).exit, 0);
  EXPECT_EQ(lab.file(job, "rank-00001.out"), "late\n");
}

TEST_P(Jobs, AHostileTreeLeavesNothingAndAStrangerLives) {
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    ::signal(SIGTERM, SIG_DFL);
    for (;;) ::pause();
  }
  const auto job = lab.plan("hostile", {self_path(), "tool", "hostile", "300"});
  lab.launch(job);
  ASSERT_TRUE(eventually([&] { return lab.file(job, "rank-00000.out") == "ready\n"; }));
  EXPECT_GT(processes_with(lab.tag()).size(), 250U);
  lab.stop(job, 10ms);
  EXPECT_EQ(lab.wait_ended(job).ranks.at(0).signal, SIGKILL);
  EXPECT_TRUE(processes_with(lab.tag()).empty()) << "ended means that nothing is left";
  EXPECT_EQ(::kill(stranger, 0), 0);
  EXPECT_EQ(::waitpid(stranger, nullptr, WNOHANG), 0);
  ::kill(stranger, SIGKILL);
  ::waitpid(stranger, nullptr, 0);
}

TEST_P(Jobs, ADaemonLeftBehindIsKilledAndDoesNotHoldTheLog) {
  const auto job = lab.shell("daemon", "setsid sleep 1000 & echo done");
  lab.launch(job);
  EXPECT_EQ(lab.wait_ended(job).ranks.at(0).exit, 0);
  EXPECT_EQ(lab.file(job, "rank-00000.out"), "done\n");
  EXPECT_TRUE(processes_with(lab.tag()).empty());
}

TEST_P(Jobs, AJobMayCloseItsStreams) {
  const auto job = lab.shell("closed", "echo before; exec >&- 2>&-; sleep 0.2; exit 4");
  lab.launch(job);
  EXPECT_EQ(lab.wait_ended(job).ranks.at(0).exit, 4);
  EXPECT_EQ(lab.file(job, "rank-00000.out"), "before\n");
}

TEST_P(Jobs, SixtyFourMegabytesOfNoiseArriveExactlyOnBothStreams) {
  const auto job = lab.plan("noise", {self_path(), "tool", "noise", "67108864", "5"});
  lab.launch(job);
  const auto record = lab.wait_ended(job);
  const auto out = lab.file(job, "rank-00000.out");
  EXPECT_EQ(record.ranks.at(0).exit, 0);
  EXPECT_EQ(out.size(), 67'108'864U);
  EXPECT_EQ(out.find('\n'), std::string::npos);
  EXPECT_TRUE(out == lab.file(job, "rank-00000.err"));
  EXPECT_EQ(record.ranks[0].out_xxh3, hash_of(out));
  EXPECT_EQ(record.ranks[0].err_bytes, 67'108'864);
}

TEST_P(Jobs, AnArgumentOf131071BytesReachesTheJob) {
  const std::string big(131'071, 'y');
  const auto job = lab.plan("big", {"/bin/sh", "-c", "printf %s \"$1\"", "sh", big});
  lab.launch(job);
  EXPECT_EQ(lab.wait_ended(job).ranks.at(0).exit, 0);
  EXPECT_EQ(lab.file(job, "rank-00000.out"), big);
}

TEST_P(Jobs, ATakenPortIsReportedAndNothingIsStarted) {
  const UniqueFd holder(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in name{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {}, .sin_zero = {}};
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof name;
  ASSERT_EQ(::bind(holder.get(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  ASSERT_EQ(::listen(holder.get(), 1), 0);
  ::getsockname(holder.get(), reinterpret_cast<sockaddr*>(&name), &size);
  const int port = ntohs(name.sin_port);
  const auto job = lab.shell("port", "echo ran");
  lab.launch(job, port);
  ASSERT_TRUE(eventually([&] { return std::holds_alternative<PortTaken>(lab.sight(job)); }));
  const auto now = lab.sight(job);
  EXPECT_EQ(std::get<PortTaken>(now).port, port);
  EXPECT_FALSE(std::filesystem::exists(lab.path(job, "shim.json")));
  lab.launch(job, 0);  // with another port it runs
  EXPECT_EQ(lab.wait_ended(job).ranks.at(0).exit, 0);
  EXPECT_EQ(lab.file(job, "rank-00000.out"), "ran\n");
}

TEST_P(Jobs, AStopBeforeTheStartLeavesATombstoneThatALaunchRespects) {
  const auto job = lab.shell("tomb", "echo ran");
  lab.stop(job, 1s);
  const auto record = lab.wait_ended(job);
  EXPECT_TRUE(record.ranks.empty());
  EXPECT_EQ(record.killed_by, "abort");
  // A launch that was under way comes late.
  ZygoteClient zygote(self_path());
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd ours(ends[0]);
  ASSERT_TRUE(zygote.send(lab.order(job), UniqueFd(ends[1]), -1));
  char byte = 0;
  EXPECT_EQ(::recv(ours.get(), &byte, 1, 0), 0) << "it goes away without a word";
  EXPECT_FALSE(std::filesystem::exists(lab.path(job, "shim.json")));
  EXPECT_EQ(lab.file(job, "rank-00000.out"), "");
}

TEST_P(Jobs, TwoShimsForOneAttemptRunItOnce) {
  const auto job = lab.shell("twice", "echo ran >> count; sleep 0.3");
  ZygoteClient zygote(self_path());
  std::vector<UniqueFd> links;
  for (int i = 0; i < 5; ++i) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    links.emplace_back(ends[0]);
    ASSERT_TRUE(zygote.send(lab.order(job), UniqueFd(ends[1]), -1));
  }
  lab.launch(job);
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(lab.path(job, "exit.json")); }));
  EXPECT_EQ(lab.wait_ended(job).ranks.at(0).exit, 0);
  EXPECT_EQ(content_of(lab.home() + "/count"), "ran\n");
}

TEST_P(Jobs, LaunchingTwiceIsHarmless) {
  const auto job = lab.shell("again", "echo ran >> count");
  lab.launch(job);
  lab.launch(job);
  lab.wait_ended(job);
  lab.launch(job);
  EXPECT_EQ(lab.wait_ended(job).ranks.at(0).exit, 0);
  EXPECT_EQ(content_of(lab.home() + "/count"), "ran\n");
}

TEST_P(Jobs, APlaceWhereNothingCanBeWrittenRefusesTheLaunchAndRunsNothing) {
  std::ofstream(lab.home() + "/jobs") << "a file where a folder should be";
  const auto job = lab.shell("refused", "touch ran");
  lab.launch(job);
  const auto lost = lab.wait_lost(job);
  EXPECT_EQ(lost.cause, Cause::never_started);
  EXPECT_NE(lost.evidence.find("jobs"), std::string::npos) << lost.evidence;
  EXPECT_FALSE(std::filesystem::exists(lab.home() + "/ran"));
}

TEST_P(Jobs, AFullDiskCostsLogBytesButNeitherTheJobNorItsRecord) {
  const auto disk = lab.home() + "/jobs";
  std::filesystem::create_directory(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=256k") != 0) GTEST_SKIP() << "needs root";
  const auto job = lab.shell("full", "head -c 1000000 /dev/zero; echo x >&2; exit 3");
  lab.launch(job);
  const auto record = lab.wait_ended(job);
  EXPECT_EQ(record.ranks.at(0).exit, 3);
  const auto out = lab.file(job, "rank-00000.out");
  EXPECT_LT(out.size(), 262'144U);
  EXPECT_EQ(record.ranks[0].out_bytes, static_cast<std::int64_t>(out.size()));
  EXPECT_NE(lab.file(job, "exit.json").find("\"exit\":3"), std::string::npos);
  const auto shim = lab.shim_of(job);
  lab.acknowledge(job);
  EXPECT_TRUE(eventually([&] { return is_gone(shim); }));
  lab.end_server();
  EXPECT_EQ(::umount(disk.c_str()), 0);
}

TEST_P(Jobs, NodesOfOneGangAreKeptApart) {
  auto job = lab.shell("nodes", "echo node $RANK; sleep 0.1; exit $RANK");
  job.nodes.push_back({.index = 1, .ranks = {{1, 0, {{"RANK", "1"}}}}});
  lab.launch(job);
  EXPECT_EQ(lab.wait_ended(job, 0).ranks.at(0).exit, 0);
  EXPECT_EQ(lab.wait_ended(job, 1).ranks.at(0).exit, 1);
  EXPECT_EQ(lab.file(job, "rank-00001.out", 1), "node 1\n");
}

TEST_P(Jobs, AnAcknowledgedShimGoesAndItsSlotIsUsedAgain) {
  std::set<std::string> marks;
  for (int i = 0; i < 5; ++i) {
    const auto job = lab.shell("recycle" + std::to_string(i), "true");
    lab.launch(job);
    lab.wait_ended(job);
    const auto shim = lab.shim_of(job);
    const auto mark = parse_mark(lab.file(job, "shim.json"));
    marks.insert(mark->slot.freezer + mark->slot.memory);
    lab.acknowledge(job);
    ASSERT_TRUE(eventually([&] { return is_gone(shim); }));
  }
  EXPECT_LE(marks.size(), 2U);
}

TEST_P(Jobs, MemoryOverTheLimitIsKilledAndCounted) {
  auto job = lab.plan("oom", {self_path(), "tool", "eat", "268435456"});
  job.memory_limit = {64 << 20};
  lab.launch(job);
  const auto record = lab.wait_ended(job);
  const auto mark = parse_mark(lab.file(job, "shim.json"));
  if (mark->slot.memory.empty()) GTEST_SKIP() << "no memory cgroup in this tier";
  EXPECT_EQ(record.ranks.at(0).signal, SIGKILL);
  EXPECT_EQ(record.ranks[0].oom_kills, 1);
  EXPECT_EQ(record.killed_by, "");
  // A child that is killed for memory is counted although its parent ends well.
  auto parent = lab.shell("oomchild", self_path() + " tool eat 268435456; exit 0");
  parent.memory_limit = {64 << 20};
  lab.launch(parent);
  const auto second = lab.wait_ended(parent);
  EXPECT_EQ(second.ranks.at(0).exit, 0);
  EXPECT_EQ(second.ranks[0].oom_kills, 1);
}

}  // namespace
}  // namespace muster::process::testing
