#include "app/api/start.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>

#include "app/api/error_json.hpp"
#include "app/api/remote.hpp"
#include "base/unique_fd.hpp"
#include "edge/fs/files.hpp"
#include "edge/fs/own_folder.hpp"
#include "edge/http/client.hpp"

namespace muster::api {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr auto kStartDeadline = std::chrono::seconds(30);
constexpr int kReadyFd = 3;
/// What a server may know of the shell that happened to start it.
constexpr const char* kKept[] = {"HOME",
                                 "USER",
                                 "LOGNAME",
                                 "PATH",
                                 "LANG",
                                 "LC_ALL",
                                 "TZ",
                                 "MUSTER_HOME",
                                 "XDG_STATE_HOME",
                                 "XDG_CONFIG_HOME",
                                 "XDG_CACHE_HOME",
                                 "XDG_RUNTIME_DIR",
                                 "ASAN_OPTIONS",
                                 "TSAN_OPTIONS",
                                 "UBSAN_OPTIONS"};

std::string socket_of(const std::string& home) { return home + "/socket"; }

Result<> is_answering(const std::string& home) {
  auto connection = http::Connection::open(socket_of(home), std::chrono::seconds(5));
  if (!connection) return tl::unexpected(std::move(connection).error());
  return {};
}

/// In the child: nothing of the client stays but the pipe.
[[noreturn]] void become_server(const Starter& starter, int ready, const std::vector<char*>& argv,
                                const std::vector<char*>& env) {
  ::setsid();
  if (::fork() > 0) ::_exit(0);  // not a child of the client: it may live longer
  if (::dup2(ready, kReadyFd) < 0) ::_exit(1);
  ::fcntl(kReadyFd, F_SETFD, 0);
  const int null = ::open("/dev/null", O_RDWR);
  const int err = ::open((starter.home + "/server.err").c_str(),
                         O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK, 0600);
  ::dup2(null, 0);
  ::dup2(null, 1);
  ::dup2(err >= 0 ? err : null, 2);
  for (int fd = kReadyFd + 1; fd < 256; ++fd) ::close(fd);
  ::umask(077);
  if (::chdir("/") != 0) ::_exit(1);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD})
    ::signal(number, SIG_DFL);
  ::execve(starter.program.c_str(), argv.data(), env.data());
  ::_exit(127);
}

Result<UniqueFd> launch(const Starter& starter) {
  TRY_VOID(fs::claim_folder(starter.home, "server.lock"));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("cannot make a pipe", errno);
  UniqueFd read_end(ends[0]), write_end(ends[1]);
  std::vector<std::string> words{starter.program,
                                 "serve",
                                 "--background",
                                 "--ready-fd",
                                 std::to_string(kReadyFd),
                                 "--config-file",
                                 starter.config_file,
                                 "--home",
                                 starter.home};
  std::vector<std::string> kept;
  for (const char* name : kKept)
    if (const auto found = starter.env.find(name); found != starter.env.end())
      kept.push_back(found->first + "=" + found->second);
  std::vector<char*> argv, env;
  for (auto& word : words) argv.push_back(word.data());
  for (auto& entry : kept) env.push_back(entry.data());
  argv.push_back(nullptr);
  env.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return fail_errno("cannot start a server", errno);
  if (child == 0) become_server(starter, write_end.get(), argv, env);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return read_end;
}

/// What the starting server says: "ok\n", an error as JSON, or nothing at all.
std::string first_words(int fd, steady_clock::time_point deadline) {
  std::string words;
  char buffer[4096];
  for (;;) {
    const auto left =
        std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now()).count();
    pollfd wait{fd, POLLIN, 0};
    if (left <= 0 || ::poll(&wait, 1, static_cast<int>(left)) == 0) return words;
    const auto n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return words;
    words.append(buffer, static_cast<std::size_t>(n));
    if (words.ends_with('\n')) return words;
  }
}

void rest(milliseconds time) {
  const timespec pause{0, static_cast<long>(time.count()) * 1'000'000};
  ::nanosleep(&pause, nullptr);
}

tl::unexpected<Error> did_not_start(const Starter& starter, const std::string& words) {
  if (words.starts_with('{')) return tl::unexpected(error_from_json(503, words));
  const auto err = fs::read_file(starter.home + "/server.err", 1U << 20);
  auto failed = fail(
      Kind::unavailable, "the server did not start",
      fmt::format("read {}/server.log, or run it in the foreground: muster serve", starter.home));
  Error error = failed.value();
  if (err && !err->empty()) error.why = *err;
  return tl::unexpected(std::move(error));
}

}  // namespace

Result<std::unique_ptr<Api>> connect_only(const std::string& home) {
  TRY_VOID(is_answering(home));
  return make_remote({.socket_path = socket_of(home)});
}

Result<std::unique_ptr<Api>> connect_or_start(const Starter& starter) {
  if (auto api = connect_only(starter.home); api || api.error().kind != Kind::unavailable)
    return api;
  const auto deadline = steady_clock::now() + kStartDeadline;
  TRY(const auto ready, launch(starter));
  const auto words = first_words(ready.get(), deadline);
  // Another client may have been faster: its server is as good as ours.
  const bool lost_race =
      words.starts_with('{') && error_from_json(503, words).where.ends_with("/server.lock");
  if (words != "ok\n" && !lost_race) return did_not_start(starter, words);
  for (;;) {
    auto api = connect_only(starter.home);
    if (api || api.error().kind != Kind::unavailable || steady_clock::now() > deadline) return api;
    rest(milliseconds(10));
  }
}

}  // namespace muster::api
