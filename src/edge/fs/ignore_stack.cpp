#include "edge/fs/ignore_stack.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <optional>

#include "base/text.hpp"
#include "base/unique_fd.hpp"

namespace muster::fs {
namespace {

constexpr std::size_t kLargest = 16U << 20;  // of an ignore file
constexpr std::string_view kGit = ".gitignore";

Result<std::string> read_all(int fd, const std::string& shown) {
  std::string bytes;
  char buffer[16384];
  for (;;) {
    const auto n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(fmt::format("cannot read {}", printable(shown)), errno);
    if (n == 0) return bytes;
    bytes.append(buffer, static_cast<std::size_t>(n));
    if (bytes.size() > kLargest)
      return fail(Kind::usage, fmt::format("{} is no list of patterns: it has more than {} bytes",
                                           printable(shown), kLargest));
  }
}

enum class Links { followed, refused };

/// A plain file below a folder; nothing when there is none.
Result<std::optional<std::string>> read_plain(int folder, const std::string& path, Links links,
                                              const std::string& shown) {
  const int follow = links == Links::refused ? O_NOFOLLOW : 0;
  const UniqueFd fd(::openat(folder, path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | follow));
  if (!fd && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENXIO))
    return std::nullopt;
  if (!fd) return fail_errno(fmt::format("cannot read {}", printable(shown)), errno);
  struct stat about{};
  if (::fstat(fd.get(), &about) != 0 || !S_ISREG(about.st_mode)) return std::nullopt;
  TRY(auto bytes, read_all(fd.get(), shown));
  return std::optional(std::move(bytes));
}

/// Where git keeps what is of this worktree alone: .git, or where a .git file points. Relative to
/// the top or absolute; nothing: no repository.
Result<std::optional<std::string>> git_folder(int top) {
  constexpr std::string_view kPointer = "gitdir: ";
  struct stat about{};
  if (::fstatat(top, ".git", &about, 0) != 0) return std::nullopt;
  std::string folder = ".git";
  if (S_ISREG(about.st_mode)) {
    TRY(const auto pointer, read_plain(top, ".git", Links::followed, ".git"));
    if (!pointer || !pointer->starts_with(kPointer)) return std::nullopt;
    folder = trimmed(std::string_view(*pointer).substr(kPointer.size()));
  }
  return std::optional(folder);
}

/// Where it keeps what all worktrees share: there, or where the "commondir" there points.
Result<std::string> common_folder(int top, const std::string& folder) {
  const auto common_file = folder + "/commondir";
  TRY(const auto common, read_plain(top, common_file, Links::followed, common_file));
  if (!common) return folder;
  const std::string shared(trimmed(*common));
  return shared.starts_with('/') ? shared : folder + "/" + shared;
}

}  // namespace

Fate IgnoreStack::fate(std::string_view path, bool is_folder) const {
  if (!leaves_out_all_ && !is_ignored(path, is_folder)) return Fate::taken;
  if (!tracked_) return Fate::left_out;
  switch (tracked_->holds(path)) {
    case tree::GitIndex::Holds::nothing: return Fate::left_out;
    case tree::GitIndex::Holds::itself: return Fate::taken;
    case tree::GitIndex::Holds::below: return is_folder ? Fate::partly : Fate::left_out;
  }
  return Fate::left_out;
}

bool IgnoreStack::is_ignored(std::string_view path, bool is_folder) const {
  for (auto file = files_.rbegin(); file != files_.rend(); ++file)
    if (const auto verdict = file->list->verdict(path.substr(file->skip), is_folder))
      return *verdict;
  return false;
}

IgnoreStack IgnoreStack::with(tree::IgnoreList list, std::string_view folder) const {
  auto more = *this;
  more.files_.push_back({.list = std::make_shared<const tree::IgnoreList>(std::move(list)),
                         .skip = folder.empty() ? 0 : folder.size() + 1});
  return more;
}

IgnoreStack IgnoreStack::with(std::shared_ptr<const Tracked> tracked) const {
  auto more = *this;
  more.tracked_ = std::move(tracked);
  return more;
}

IgnoreStack IgnoreStack::leaving_out_all() const {
  auto all = *this;
  all.leaves_out_all_ = true;
  return all;
}

std::string ignore_file_name(int top) {
  for (const char* name : {".musterignore", ".amlignore"}) {
    struct stat about{};
    const bool is_there = ::fstatat(top, name, &about, AT_SYMLINK_NOFOLLOW) == 0;
    if (is_there && S_ISREG(about.st_mode)) return name;
  }
  return std::string(kGit);
}

Result<IgnoreStack> first_rules(int top, const std::string& file_name) {
  if (file_name != kGit) return IgnoreStack();
  TRY(const auto folder, git_folder(top));
  if (!folder) return IgnoreStack();
  const auto rules = IgnoreStack().with(std::make_shared<const Tracked>(top, *folder + "/index"));
  TRY(const auto common, common_folder(top, *folder));
  const auto path = common + "/info/exclude";
  TRY(const auto text, read_plain(top, path, Links::followed, path));
  if (!text) return rules;
  auto list = tree::IgnoreList::parse(*text);
  return list.is_empty() ? rules : rules.with(std::move(list), "");
}

Result<tree::IgnoreList> read_ignore_file(int folder, const std::string& name,
                                          const std::string& shown) {
  TRY(const auto text, read_plain(folder, name, Links::refused, shown));
  return tree::IgnoreList::parse(text.value_or(""));
}

}  // namespace muster::fs
