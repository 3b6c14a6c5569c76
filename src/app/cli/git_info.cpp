#include "app/cli/git_info.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "core/model/json.hpp"
#include "edge/fs/files.hpp"

namespace muster {
namespace {

/// What a program prints on stdout; nothing when it fails. Its stderr goes nowhere.
std::optional<std::string> output_of(std::vector<std::string> words) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  const UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out.get(), 1);
  ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int failed = ::posix_spawnp(&pid, "git", &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  out.reset();
  if (failed != 0) return std::nullopt;
  std::string text;
  char buffer[16384];
  for (;;) {
    const auto n = ::read(in.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return text;
}

/// Changes whenever git could answer something else: the tree, HEAD, what HEAD names, the index.
std::string state_of(const Code& code) {
  std::string state = code.snapshot;
  const auto git = code.top + "/.git/";
  const auto head = fs::read_file(git + "HEAD", 4096).value_or("");
  state += "|" + std::string(trimmed(head));
  if (head.starts_with("ref: "))
    state +=
        "|" + std::string(trimmed(
                  fs::read_file(git + std::string(trimmed(head.substr(5))), 4096).value_or("")));
  struct stat index{};
  if (::stat((git + "index").c_str(), &index) == 0)
    state += fmt::format("|{}.{}.{}", index.st_mtim.tv_sec, index.st_mtim.tv_nsec, index.st_size);
  return printable(state);
}

bool recall(Code& code, const std::string& cache_file, const std::string& state) {
  const auto text = fs::read_file(cache_file, 1U << 16);
  const auto parsed = text ? parse_json(*text) : Result<json::value>(tl::unexpected(text.error()));
  if (!parsed || !parsed->is_object() || text_at(parsed->get_object(), "state") != state)
    return false;
  const auto& in = parsed->get_object();
  code.commit = text_at(in, "commit");
  code.branch = text_at(in, "branch");
  code.dirty = static_cast<int>(number_at(in, "dirty"));
  return true;
}

void ask_git(Code& code) {
  const auto git = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"git", "--no-optional-locks", "-C", code.top});
    return output_of(std::move(words));
  };
  const auto commit = git({"rev-parse", "HEAD"});
  if (!commit) return;
  code.commit = printable(trimmed(*commit));
  if (const auto branch = git({"symbolic-ref", "--short", "-q", "HEAD"}))
    code.branch = printable(trimmed(*branch));
  if (const auto status = git({"status", "--porcelain", "-z", "--no-renames"}))
    code.dirty = static_cast<int>(std::count(status->begin(), status->end(), '\0'));
}

}  // namespace

void add_git_info(Code& code, const std::string& cache_file) {
  if (!fs::exists(code.top + "/.git")) return;
  const auto state = state_of(code);
  if (recall(code, cache_file, state)) return;
  ask_git(code);
  const json::object out{
      {"state", state}, {"commit", code.commit}, {"branch", code.branch}, {"dirty", code.dirty}};
  (void)fs::write_whole(cache_file, json::serialize(out));  // a cache: losing it costs a question
}

}  // namespace muster
