#include "edge/process/exec_program.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/text.hpp"

namespace muster::process {
namespace {

using Pointers = std::vector<char*>;

Pointers pointers_to(const std::vector<std::string>& strings) {
  Pointers out;
  out.reserve(strings.size() + 1);
  for (const auto& string : strings) out.push_back(const_cast<char*>(string.c_str()));
  out.push_back(nullptr);
  return out;
}

/// Returns errno. A text file without "#!" is a shell script, as execvp has it.
int try_exec(const std::string& path, Pointers& argv, Pointers& env) {
  ::execve(path.c_str(), argv.data(), env.data());
  if (errno != ENOEXEC) return errno;
  Pointers script{const_cast<char*>("/bin/sh"), const_cast<char*>(path.c_str())};
  script.insert(script.end(), argv.begin() + 1, argv.end());
  ::execve("/bin/sh", script.data(), env.data());
  return ENOEXEC;
}

/// The interpreter a script names in its first line; empty when there is none.
std::string interpreter_of(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  char head[256];
  const auto got = ::read(fd, head, sizeof head);
  ::close(fd);
  const std::string_view text(head, got > 0 ? static_cast<std::size_t>(got) : 0);
  if (!text.starts_with("#!")) return {};
  return std::string(trimmed(split(text.substr(2), '\n').front()));
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

bool is_directory(const std::string& path) {
  struct stat found{};
  return ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

/// The file is there and the kernel would not run it.
ExecFailure refusal(const std::string& path, int error) {
  const auto name = printable(path);
  if (error == ENOENT || error == ENOTDIR) {
    const auto interpreter = interpreter_of(path);
    if (interpreter.empty()) return {126, fmt::format("{}: its loader is missing", name)};
    return {126,
            fmt::format("{}: bad interpreter: {}: no such file", name, printable(interpreter))};
  }
  if (is_directory(path)) return {126, fmt::format("{}: is a directory", name)};
  if (error == EACCES)
    return {126, fmt::format("{}: not executable (permission denied; chmod +x?)", name)};
  return {126, fmt::format("{}: {}", name, std::strerror(error))};
}

std::optional<std::string> path_of(const std::vector<std::string>& env) {
  for (const auto& entry : env)
    if (entry.starts_with("PATH=")) return entry.substr(5);
  return std::nullopt;
}

/// Errors after which the next folder of PATH is tried, as execvp does.
bool goes_on(int error) {
  return error == ENOENT || error == ENOTDIR || error == EACCES || error == ESTALE ||
         error == ENODEV || error == ETIMEDOUT;
}

ExecFailure search(const std::vector<std::string>& argv, const std::vector<std::string>& env,
                   Pointers& argv_p, Pointers& env_p) {
  const auto& name = argv.front();
  const auto path = path_of(env);
  const std::string folders = path.value_or("/bin:/usr/bin");
  std::optional<ExecFailure> nearest_miss;
  for (const auto folder : split(folders, ':')) {
    const std::string candidate = folder.empty() ? name : fmt::format("{}/{}", folder, name);
    const int error = try_exec(candidate, argv_p, env_p);
    if (!nearest_miss && exists(candidate)) nearest_miss = refusal(candidate, error);
    if (!goes_on(error)) return refusal(candidate, error);
  }
  if (nearest_miss) return *nearest_miss;
  const auto told = path ? fmt::format("not in the {} folders of PATH", split(folders, ':').size())
                         : std::string("PATH is not set");
  return {127, fmt::format("no such program: {} ({})", printable(name), told)};
}

}  // namespace

ExecFailure exec_program(const std::vector<std::string>& argv,
                         const std::vector<std::string>& env) {
  if (argv.empty() || argv.front().empty()) return {127, "no such program: the command is empty"};
  auto argv_p = pointers_to(argv);
  auto env_p = pointers_to(env);
  const auto& name = argv.front();
  if (name.find('/') == std::string::npos) return search(argv, env, argv_p, env_p);
  const int error = try_exec(name, argv_p, env_p);
  if (exists(name)) return refusal(name, error);
  if (error != ENOENT && error != ENOTDIR) return refusal(name, error);
  return {127, fmt::format("no such program: {}", printable(name))};
}

void close_from_by_listing(int first) {
  DIR* listing = ::opendir("/proc/self/fd");
  if (listing == nullptr) {
    const long limit = ::sysconf(_SC_OPEN_MAX);
    for (int fd = first; fd < (limit > 0 ? limit : 1024); ++fd) ::close(fd);
    return;
  }
  std::vector<int> open;
  while (const auto* entry = ::readdir(listing))
    if (const int fd = std::atoi(entry->d_name); fd >= first) open.push_back(fd);
  ::closedir(listing);
  for (const int fd : open) ::close(fd);
}

void close_from(int first) {
  if (::syscall(SYS_close_range, static_cast<unsigned>(first), UINT_MAX, 0U) != 0)
    close_from_by_listing(first);
}

}  // namespace muster::process
