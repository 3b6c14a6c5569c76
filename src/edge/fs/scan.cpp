#include "edge/fs/scan.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/text.hpp"
#include "edge/fs/below.hpp"
#include "edge/fs/times.hpp"

namespace muster::fs {
namespace {

constexpr std::size_t kBuffer = 256U << 10;  // of one getdents
constexpr std::size_t kMostNames = UINT32_MAX - kBuffer;

/// What the kernel writes: linux_dirent64 of getdents(2), with the name behind it.
struct Header {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t size;
  unsigned char type;
};
constexpr std::size_t kNameAt = 19;

bool is_left_out(std::string_view name, bool is_top) {
  return name == "." || name == ".." || name == ".git" || name == "__pycache__" ||
         (is_top && name == "assets");
}

bool is_gone(int error_number) {
  return error_number == ENOENT || error_number == ENOTDIR || error_number == ELOOP;
}

tl::unexpected<Error> cannot_read(std::string_view what, const std::string& path,
                                  const std::string& ignore_file, int error_number) {
  const auto shown = path.empty() ? std::string("the top folder") : printable(path);
  auto failed = fail_errno(fmt::format("cannot {} {}", what, shown), error_number);
  if (!path.empty())
    failed.value().fix.push_back(
        fmt::format("make it readable, or leave it out: add /{} to the {} of the top folder", shown,
                    ignore_file.empty() ? ".musterignore" : ignore_file));
  return failed;
}

std::optional<tree::EntryKind> kind_of(mode_t mode) {
  if (S_ISREG(mode)) return tree::EntryKind::file;
  if (S_ISDIR(mode)) return tree::EntryKind::folder;
  if (S_ISLNK(mode)) return tree::EntryKind::link;
  return std::nullopt;
}

Found found_of(const struct stat& about, tree::EntryKind kind) {
  const bool is_link = kind == tree::EntryKind::link;
  const bool is_folder = kind == tree::EntryKind::folder;
  return {.name_at = 0,
          .name_size = 0,
          .kind = kind,
          .is_partly = false,
          .mode = static_cast<std::uint16_t>(is_link ? 0777 : about.st_mode & 0777),
          .size = is_folder ? 0 : static_cast<std::uint64_t>(about.st_size),
          .mtime_ns = ns_of(about.st_mtim),
          .ctime_ns = ns_of(about.st_ctim),
          .inode = about.st_ino,
          .device = about.st_dev};
}

}  // namespace

std::string path_in(std::string_view folder, std::string_view name) {
  std::string path;
  path.reserve(folder.size() + 1 + name.size());
  path = folder;
  if (!folder.empty()) path += '/';
  path += name;
  return path;
}

Scanner::Scanner(int top, std::string ignore_file)
    : top_(top), ignore_file_(std::move(ignore_file)), buffer_(kBuffer) {}

Result<Scanned> Scanner::scan(const std::string& path, std::shared_ptr<const IgnoreStack> rules) {
  Scanned scanned;
  scanned.path = path;
  scanned.rules = std::move(rules);
  const auto folder = open_below(top_, path, O_RDONLY | O_DIRECTORY);
  if (!folder && is_gone(errno)) {
    scanned.is_gone = true;
    return scanned;
  }
  if (!folder) return cannot_read("read the folder", path, ignore_file_, errno);
  TRY_VOID(read_names(folder.get(), scanned));
  TRY_VOID(read_rules(folder.get(), scanned));
  TRY_VOID(look_at_all(folder.get(), scanned));
  return scanned;
}

Result<> Scanner::read_names(int folder, Scanned& into) {
  listed_.clear();
  for (;;) {
    const auto bytes = ::syscall(SYS_getdents64, folder, buffer_.data(), buffer_.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0 && errno == ENOENT) break;  // removed while it was open
    if (bytes < 0) return cannot_read("read the folder", into.path, ignore_file_, errno);
    if (bytes == 0) break;
    for (std::size_t at = 0; at < static_cast<std::size_t>(bytes);) {
      Header header{};
      std::memcpy(&header, buffer_.data() + at, kNameAt);
      const std::string_view name = buffer_.data() + at + kNameAt;
      at += header.size;
      if (is_left_out(name, into.path.empty())) continue;
      listed_.push_back({.at = static_cast<std::uint32_t>(into.names.size()),
                         .size = static_cast<std::uint16_t>(name.size()),
                         .type = header.type});
      into.names.append(name.data(), name.size() + 1);  // with its NUL, for the calls that follow
    }
    if (into.names.size() > kMostNames)
      return fail(Kind::exhausted,
                  fmt::format("the folder {} holds too many files", printable(into.path)));
  }
  const auto name_of = [&](const Name& one) {
    return std::string_view(into.names.data() + one.at, one.size);
  };
  std::sort(listed_.begin(), listed_.end(),
            [&](const Name& a, const Name& b) { return name_of(a) < name_of(b); });
  return {};
}

Result<> Scanner::read_rules(int folder, Scanned& into) {
  if (ignore_file_.empty()) return {};
  const bool has_file = std::any_of(listed_.begin(), listed_.end(), [&](const Name& one) {
    return std::string_view(into.names.data() + one.at, one.size) == ignore_file_;
  });
  if (!has_file) return {};
  TRY(auto list, read_ignore_file(folder, ignore_file_, path_in(into.path, ignore_file_)));
  if (!list.is_empty())
    into.rules = std::make_shared<const IgnoreStack>(into.rules->with(std::move(list), into.path));
  return {};
}

Result<> Scanner::look_at_all(int folder, Scanned& into) {
  into.found.reserve(listed_.size());
  path_ = into.path.empty() ? "" : into.path + "/";
  for (const auto& name : listed_) TRY_VOID(look_at(folder, name, into));
  return {};
}

Result<> Scanner::look_at(int folder, const Name& name, Scanned& into) {
  const bool is_known = name.type != DT_UNKNOWN;
  auto fate = is_known ? fate_of(name, name.type == DT_DIR, into) : Fate::taken;
  if (fate == Fate::left_out) return {};
  const char* text = into.names.data() + name.at;
  struct stat about{};
  if (::fstatat(folder, text, &about, AT_SYMLINK_NOFOLLOW) != 0) {
    if (is_gone(errno)) return {};
    return cannot_read("look at", path_in(into.path, text), ignore_file_, errno);
  }
  if (!is_known) fate = fate_of(name, S_ISDIR(about.st_mode), into);
  if (fate == Fate::left_out) return {};
  const auto kind = kind_of(about.st_mode);
  if (!kind) {
    into.specials.push_back(path_in(into.path, text));
    return {};
  }
  auto& found = into.found.emplace_back(found_of(about, *kind));
  found.name_at = name.at;
  found.name_size = name.size;
  found.is_partly = fate == Fate::partly;
  return {};
}

Fate Scanner::fate_of(const Name& name, bool is_folder, Scanned& into) {
  if (into.rules->is_empty()) return Fate::taken;
  const std::string_view text(into.names.data() + name.at, name.size);
  const auto size = path_.size();
  path_ += text;
  const auto fate = into.rules->fate(path_, is_folder);
  path_.resize(size);
  if (fate == Fate::left_out && into.path.empty()) into.ignored.emplace_back(text);
  return fate;
}

}  // namespace muster::fs
