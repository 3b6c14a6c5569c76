#include "tools.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.hpp"

extern char** environ;

namespace muster::process::testing {
namespace {

[[noreturn]] void sleep_for_ever() {
  for (;;) ::pause();
}

/// Every argument and variable with its length first, so that any byte is told apart.
int echo(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) std::printf("%zu:%s\n", std::strlen(argv[i]), argv[i]);
  for (char** entry = environ; *entry != nullptr; ++entry)
    std::printf("%zu=%s\n", std::strlen(*entry), *entry);
  return 0;
}

/// What a process inherits besides its words.
int surroundings() {
  char cwd[4096];
  std::printf("cwd %s\n", ::getcwd(cwd, sizeof cwd));
  const auto mask = ::umask(0);
  std::printf("umask %03o\n", static_cast<unsigned>(mask));
  for (int fd = 0; fd < 256; ++fd)
    if (::fcntl(fd, F_GETFD) >= 0) std::printf("fd %d\n", fd);
  for (int signal = 1; signal < 32; ++signal) {
    struct sigaction action{};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN)
      std::printf("signal %d is ignored\n", signal);
  }
  sigset_t blocked;
  ::sigprocmask(SIG_BLOCK, nullptr, &blocked);
  for (int signal = 1; signal < 32; ++signal)
    if (sigismember(&blocked, signal) == 1) std::printf("signal %d is blocked\n", signal);
  std::printf("group leader %d\n", ::getpgrp() == ::getpid() ? 1 : 0);
  return 0;
}

/// A tree that does what it can to stay: new sessions, double forks, TERM ignored.
int hostile(int count) {
  for (const int signal : {SIGTERM, SIGHUP, SIGINT}) ::signal(signal, SIG_IGN);
  for (int i = 0; i < count; ++i) {
    if (::fork() != 0) continue;
    if (i % 3 == 1) ::setsid();
    if (i % 3 == 2 && ::fork() != 0) ::_exit(0);
    sleep_for_ever();
  }
  std::printf("ready\n");
  std::fflush(stdout);
  sleep_for_ever();
}

int eat(std::size_t bytes) {
  auto* memory = static_cast<char*>(
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (memory == MAP_FAILED) return 1;
  for (std::size_t at = 0; at < bytes; at += 4096) memory[at] = 1;
  std::printf("ate\n");
  return 0;
}

void put(int fd, const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const auto count = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (count <= 0) ::_exit(9);
    done += static_cast<std::size_t>(count);
  }
}

/// `total` bytes of noise without a newline onto each stream.
int noise(std::size_t total, std::uint64_t seed) {
  Rng rng(seed);
  std::string piece;
  for (std::size_t done = 0; done < total; done += piece.size()) {
    piece.resize(std::min<std::size_t>(total - done, 1 + rng.next() % 100'000));
    for (auto& byte : piece) byte = static_cast<char>((rng.next() & 0xFF) == '\n' ? 0 : rng.next());
    for (auto& byte : piece) byte = byte == '\n' ? '\0' : byte;
    put(1, piece);
    put(2, piece);
  }
  return 0;
}

}  // namespace

int run_tool(int argc, char** argv) {
  const std::string_view name = argc > 0 ? argv[0] : "";
  const auto number = [&](int at) { return argc > at ? std::strtoull(argv[at], nullptr, 10) : 0; };
  if (name == "echo") return echo(argc, argv);
  if (name == "surroundings") return surroundings();
  if (name == "hostile") return hostile(static_cast<int>(number(1)));
  if (name == "eat") return eat(number(1));
  if (name == "noise") return noise(number(1), number(2));
  return 2;
}

}  // namespace muster::process::testing
