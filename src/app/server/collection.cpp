#include "app/server/collection.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <vector>

#include "app/cli/context.hpp"
#include "app/cli/prune.hpp"
#include "edge/fs/files.hpp"

namespace muster::server {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr auto kUsual = hours(24);
constexpr auto kWhenLow = hours(1);
/// Submits wait while the store is held: one that takes longer is given up.
constexpr auto kLongest = minutes(2);
/// Whatever became of it: a store in which somebody sends all day is not asked every second.
constexpr auto kPause = minutes(10);

/// The words of the child. A home that is not the one the environment names is given by a flag.
std::vector<std::string> words_of(const std::string& home) {
  std::vector<std::string> words{"muster", "snapshot", "prune", "--background"};
  const auto usual = find_paths(process_environment(), {});
  if (!usual || usual->state != home) words.insert(words.end(), {"--home", home});
  return words;
}

/// posix_spawn and not fork: the server has threads.
Result<pid_t> spawn(const std::string& program, std::vector<std::string> words) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  for (int fd = 0; fd < 3; ++fd)
    ::posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
  ::posix_spawn_file_actions_addclosefrom_np(&files, 3);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, program.c_str(), &files, &attributes, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return fail_errno(fmt::format("cannot run {}", program), error);
  return pid;
}

/// The record's time is when the last one ended; a new home has one from the beginning.
seconds since_last(const std::string& home) {
  const auto path = record_file(home);
  struct stat about{};
  if (::stat(path.c_str(), &about) != 0) {
    (void)fs::write_whole(path, R"({"v":1})");
    return seconds(0);
  }
  return seconds(std::time(nullptr) - about.st_mtim.tv_sec);
}

}  // namespace

bool is_collection_due(seconds since_last, const fs::DiskRoom& room) {
  return since_last >= (room.is_low() ? seconds(kWhenLow) : seconds(kUsual));
}

Collection::~Collection() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Collection::tick(const std::string& program) {
  if (pid_ != 0) return see_to_it();
  if (not_before_ && Clock::now() < *not_before_) return;
  if (is_collection_due(since_last(home_), fs::disk_room(home_))) begin(program);
}

void Collection::begin(const std::string& program) {
  not_before_ = Clock::now() + kPause;
  const auto pid = spawn(program, words_of(home_));
  if (!pid) return log_.warn("collection not begun", {{"why", to_line(pid.error())}});
  pid_ = *pid;
  begun_ = Clock::now();
}

void Collection::see_to_it() {
  int status = 0;
  const auto ended = ::waitpid(pid_, &status, WNOHANG);
  if (ended == 0) {
    // Killed, it is reaped at a later look.
    if (Clock::now() - begun_ > kLongest) ::kill(pid_, SIGKILL);
    return;
  }
  pid_ = 0;
  const auto record = fs::read_file(record_file(home_), 1U << 16).value_or("");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return log_.info("collected", {{"record", record}});
  log_.info("collection not finished; the next one goes on", {{"status", status}});
}

}  // namespace muster::server
