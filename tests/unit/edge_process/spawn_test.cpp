#include "edge/process/spawn.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>

#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "lab.hpp"

namespace muster::process::testing {
namespace {

namespace fs = std::filesystem;

/// A directory to run in, and a way to run something there and read what it printed.
class SpawnTest : public ::testing::Test {
 protected:
  SpawnTest() {
    std::string name = fs::temp_directory_path() / "muster-spawn-XXXXXX";
    dir_ = ::mkdtemp(name.data());
  }
  ~SpawnTest() override { fs::remove_all(dir_); }

  SpawnOrder order(std::vector<std::string> argv) const {
    return {.argv = std::move(argv), .env = {{"PATH", "/usr/bin:/bin"}}, .dir = dir_};
  }
  std::string script(const std::string& name, const std::string& text, mode_t mode = 0755) const {
    const auto path = dir_ + "/" + name;
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }
  Result<Spawned> start(SpawnOrder order) {
    const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    const UniqueFd out(
        ::open((dir_ + "/.out").c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    order.stdio = {null.get(), out.get(), out.get()};
    return spawn(order);
  }
  /// Output of a program that is expected to run and end with 0.
  std::string output_of(SpawnOrder order) {
    const auto spawned = start(std::move(order));
    EXPECT_TRUE(spawned) << (spawned ? "" : to_line(spawned.error()));
    if (!spawned) return {};
    EXPECT_GT(spawned->pid, 0) << spawned->failure.why;
    int status = -1;
    if (spawned->pid > 0) ::waitpid(spawned->pid, &status, 0);
    EXPECT_EQ(status, 0);
    return content_of(dir_ + "/.out");
  }
  ExecFailure failure_of(SpawnOrder order) {
    const auto spawned = start(std::move(order));
    EXPECT_TRUE(spawned);
    EXPECT_EQ(spawned->pid, 0);
    return spawned->failure;
  }

  std::string dir_;
};

TEST_F(SpawnTest, ArgumentsAndVariablesArriveByteForByte) {
  std::string any;
  for (int byte = 1; byte < 256; ++byte) any += static_cast<char>(byte);
  auto job = order({self_path(), "tool", "echo", any, "", " two  spaces ", "'\"$(x)\n"});
  job.env["ODD"] = any;
  const auto out = output_of(job);
  EXPECT_EQ(
      out,
      fmt::format("255:{}\n0:\n13: two  spaces \n7:'\"$(x)\n\n259=ODD={}\n18=PATH=/usr/bin:/bin\n",
                  any, any));
}

TEST_F(SpawnTest, AnArgumentOf131071BytesFits) {
  const std::string big(131'071, 'x');
  auto job = order({self_path(), "tool", "echo", big});
  job.env.clear();
  EXPECT_EQ(output_of(job), "131071:" + big + "\n");
}

TEST_F(SpawnTest, AnArgumentOneByteTooLongIsRefusedByName) {
  const auto failure = failure_of(order({self_path(), std::string(131'072, 'x')}));
  EXPECT_EQ(failure.exit, 126);
  EXPECT_NE(failure.why.find("Argument list too long"), std::string::npos) << failure.why;
}

TEST_F(SpawnTest, NothingIsInheritedButTheThreeStreams) {
  const UniqueFd stray(::open("/dev/null", O_RDONLY));  // without close-on-exec
  ::signal(SIGUSR1, SIG_IGN);
  auto job = order({self_path(), "tool", "surroundings"});
  job.umask = 027;
  const auto out = output_of(job);
  ::signal(SIGUSR1, SIG_DFL);
  EXPECT_EQ(out, fmt::format("cwd {}\numask 027\nfd 0\nfd 1\nfd 2\ngroup leader 1\n", dir_));
}

TEST_F(SpawnTest, SoftLimitsAndNiceAreThoseOfTheSubmitter) {
  auto job = order({"sh", "-c", "ulimit -n; ulimit -c; nice"});
  job.limits = {{"nofile", 77}, {"core", 0}};
  job.nice = 5;
  EXPECT_EQ(output_of(job), "77\n0\n5\n");
}

TEST_F(SpawnTest, TheKernelIsToldToTakeTheJobFirst) {
  const int before = std::atoi(content_of("/proc/self/oom_score_adj").c_str());
  const int after = std::atoi(output_of(order({"cat", "/proc/self/oom_score_adj"})).c_str());
  EXPECT_EQ(after, std::min(1000, before + 500));
}

TEST_F(SpawnTest, ARelativePathIsTakenFromTheJobsFolder) {
  script("here.sh", "#!/bin/sh\necho here $1\n");
  EXPECT_EQ(output_of(order({"./here.sh", "x"})), "here x\n");
}

TEST_F(SpawnTest, ProgramsAreFoundInTheJobsPathNotInOurs) {
  fs::create_directory(dir_ + "/bin");
  script("bin/only-here", "#!/bin/sh\necho found\n");
  auto job = order({"only-here"});
  job.env["PATH"] = "/nowhere:bin";
  EXPECT_EQ(output_of(job), "found\n");
}

TEST_F(SpawnTest, AScriptWithoutAFirstLineIsRunByTheShell) {
  script("plain", "echo plain $1\n");
  EXPECT_EQ(output_of(order({"./plain", "arg"})), "plain arg\n");
}

TEST_F(SpawnTest, AnExecutableLaterInThePathIsRunWhenAnEarlierOneMayNotBe) {
  fs::create_directories(dir_ + "/a");
  fs::create_directories(dir_ + "/b");
  script("a/tool", "#!/bin/sh\necho a\n", 0644);
  script("b/tool", "#!/bin/sh\necho b\n");
  auto job = order({"tool"});
  job.env["PATH"] = "a:b";
  EXPECT_EQ(output_of(job), "b\n");
}

TEST_F(SpawnTest, AMissingProgramIs127AndSaysWhereItWasLookedFor) {
  const auto failure = failure_of(order({"trian.py"}));
  EXPECT_EQ(failure.exit, 127);
  EXPECT_EQ(failure.why, "no such program: trian.py (not in the 2 folders of PATH)");
}

TEST_F(SpawnTest, AMissingFileIs127) {
  const auto failure = failure_of(order({"./trian.py"}));
  EXPECT_EQ(failure.exit, 127);
  EXPECT_EQ(failure.why, "no such program: ./trian.py");
}

TEST_F(SpawnTest, AFileThatIsNotExecutableIs126) {
  script("notes.txt", "hello", 0644);
  const auto failure = failure_of(order({"./notes.txt"}));
  EXPECT_EQ(failure.exit, 126);
  EXPECT_NE(failure.why.find("not executable"), std::string::npos) << failure.why;
}

TEST_F(SpawnTest, AMissingInterpreterIsNamed) {
  script("train.py", "#!/opt/no/python3 -u\n");
  const auto failure = failure_of(order({"./train.py"}));
  EXPECT_EQ(failure.exit, 126);
  EXPECT_EQ(failure.why, "./train.py: bad interpreter: /opt/no/python3 -u: no such file");
}

TEST_F(SpawnTest, ADirectoryIsNoProgram) {
  const auto failure = failure_of(order({"/usr"}));
  EXPECT_EQ(failure.exit, 126);
  EXPECT_EQ(failure.why, "/usr: is a directory");
}

TEST_F(SpawnTest, AMissingFolderIsSaidToBeThat) {
  auto job = order({"true"});
  job.dir = "/x/y";
  const auto failure = failure_of(job);
  EXPECT_EQ(failure.exit, 126);
  EXPECT_EQ(failure.why, "cwd /x/y: No such file or directory");
}

TEST_F(SpawnTest, ACgroupThatCannotBeEnteredIsOurFaultNotTheJobs) {
  auto job = order({"true"});
  job.cgroup_files = {dir_ + "/no/tasks"};
  const auto spawned = start(job);
  ASSERT_FALSE(spawned);
  EXPECT_NE(spawned.error().what.find("/no/tasks"), std::string::npos) << spawned.error().what;
}

TEST(CloseFrom, ClosesByListingWhereTheKernelHasNoCall) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (int i = 0; i < 20; ++i) (void)::open("/dev/null", O_RDONLY);
    close_from_by_listing(3);
    for (int fd = 3; fd < 100; ++fd)
      if (::fcntl(fd, F_GETFD) >= 0) ::_exit(1);
    ::_exit(::fcntl(2, F_GETFD) >= 0 ? 0 : 2);
  }
  int status = -1;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace muster::process::testing
