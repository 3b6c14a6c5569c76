#include "app/cli/patch.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "edge/fs/files.hpp"
#include "edge/fs/remove_tree.hpp"

namespace muster {
namespace {

constexpr std::size_t kLargest = 16U << 20;  // of a file that is shown as text
constexpr const char* kNothing = "/dev/null";

/// As diff(1) and git decide: text has no zero byte at its beginning.
bool is_binary(std::string_view bytes) {
  return bytes.substr(0, 8000).find('\0') != std::string_view::npos;
}

unsigned git_mode(const ChangeSide& side) {
  return side.kind == "link" ? unsigned{S_IFLNK} : S_IFREG | unsigned{side.mode};
}

std::string head_of(const TreeChange& change) {
  auto head = fmt::format("diff --git {} {}\n", patch_path("a/" + change.path),
                          patch_path("b/" + change.path));
  if (!change.before) return head + fmt::format("new file mode {:o}\n", git_mode(*change.after));
  if (!change.after)
    return head + fmt::format("deleted file mode {:o}\n", git_mode(*change.before));
  const auto before = git_mode(*change.before), after = git_mode(*change.after);
  if (before == after) return head;
  return head + fmt::format("old mode {:o}\nnew mode {:o}\n", before, after);
}

/// Nothing when it is too large.
Result<std::optional<std::string>> text_of(const std::optional<ChangeSide>& side) {
  if (!side) return std::optional(std::string());
  if (side->kind == "link") return std::optional(side->target);
  auto bytes = side->read(kLargest);
  if (bytes) return std::optional(std::move(*bytes));
  if (bytes.error().kind == Kind::exhausted) return std::optional<std::string>();
  return tl::unexpected<Error>(bytes.error());
}

bool has_place(const std::optional<ChangeSide>& side) {
  return side && (side->kind == "file" || side->kind == "link");
}

/// The environment with messages in one language.
std::vector<std::string> plain_environment(const Environment& env) {
  std::vector<std::string> all;
  for (const auto& [name, value] : env)
    if (name != "LC_ALL") all.push_back(fmt::format("{}={}", name, value));
  all.emplace_back("LC_ALL=C");
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (auto& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

std::string read_to_end(int fd) {
  std::string text;
  char buffer[65536];
  for (;;) {
    const auto n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

tl::unexpected<Error> no_diff(int error_number) {
  auto failed = fail_errno("cannot run diff", error_number);
  failed.value().fix.emplace_back("install diffutils, or leave --patch out");
  return failed;
}

/// What diff(1) prints; 0 and 1 are its good ends.
Result<std::string> run_diff(std::vector<std::string> words, const Environment& env) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("cannot make a pipe", errno);
  const UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, kNothing, O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out.get(), 1);
  auto environment = plain_environment(env);
  pid_t pid = 0;
  const int failed = ::posix_spawnp(&pid, "diff", &actions, nullptr, pointers(words).data(),
                                    pointers(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  out.reset();
  if (failed != 0) return no_diff(failed);
  auto text = read_to_end(in.get());
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) <= 1) return text;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) return no_diff(ENOENT);
  return fail(Kind::internal, "diff failed", "leave --patch out");
}

}  // namespace

std::string patch_path(std::string_view path) {
  if (printable(path) == path && path.find_first_of("\"\\") == std::string_view::npos)
    return std::string(path);
  std::string out = "\"";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", c);
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else
      out += byte < 0x20 || byte >= 0x7F ? fmt::format("\\{:03o}", byte) : std::string(1, c);
  }
  return out + "\"";
}

PatchPrinter::PatchPrinter(Context& context) : context_(context), out_(context) {}

PatchPrinter::~PatchPrinter() {
  if (!folder_.empty()) fs::remove_tree(folder_);
}

Result<> PatchPrinter::print(const TreeChange& change) {
  const bool has_before = has_place(change.before), has_after = has_place(change.after);
  TreeChange removed{.path = change.path, .before = change.before, .after = {}};
  TreeChange added{.path = change.path, .before = {}, .after = change.after};
  if (has_before && has_after && change.before->kind == change.after->kind)
    return print_one(change);
  if (has_before) TRY_VOID(print_one(removed));
  return has_after ? print_one(added) : Result<>();
}

Result<> PatchPrinter::print_one(const TreeChange& change) {
  TRY(const auto body, body_of(change));
  out_.put(head_of(change) + body);
  return {};
}

Result<std::string> PatchPrinter::body_of(const TreeChange& change) {
  TRY(const auto before, text_of(change.before));
  TRY(const auto after, text_of(change.after));
  if (before && after && *before == *after) return std::string();
  const std::vector<std::string> labels{change.before ? patch_path("a/" + change.path) : kNothing,
                                        change.after ? patch_path("b/" + change.path) : kNothing};
  if (!before || !after || is_binary(*before) || is_binary(*after))
    return fmt::format("Binary files {} and {} differ\n", labels[0], labels[1]);
  return differences(labels, *before, *after);
}

Result<std::string> PatchPrinter::differences(const std::vector<std::string>& labels,
                                              const std::string& before, const std::string& after) {
  if (folder_.empty()) {
    const auto place = context_.env.find("TMPDIR");
    auto name =
        fmt::format("{}/muster-diff.XXXXXX",
                    place == context_.env.end() || place->second.empty() ? "/tmp" : place->second);
    if (::mkdtemp(name.data()) == nullptr)
      return fail_errno(fmt::format("cannot make {}", printable(name)), errno);
    folder_ = name;
  }
  const auto old_file = folder_ + "/a", new_file = folder_ + "/b";
  TRY_VOID(fs::write_whole(old_file, before));
  TRY_VOID(fs::write_whole(new_file, after));
  return run_diff(
      {"diff", "-u", "-a", "--label", labels[0], "--label", labels[1], "--", old_file, new_file},
      context_.env);
}

}  // namespace muster
