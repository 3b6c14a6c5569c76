#include "edge/tree/read_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <span>

#include "base/text.hpp"
#include "core/tree/chunker.hpp"
#include "edge/fs/below.hpp"
#include "edge/fs/times.hpp"

namespace muster::snapshot {
namespace {

constexpr int kTries = 4;
constexpr std::uint64_t kLeastHole = 64U << 10;

bool is_gone(int error) { return error == ENOENT || error == ENOTDIR || error == ELOOP; }

tl::unexpected<Error> cannot_read(const fs::Seen& seen, int error) {
  auto failed = fail_errno(fmt::format("cannot read {}", printable(seen.path)), error);
  failed.value().fix.emplace_back("make it readable, or leave it out: add it to .musterignore");
  return failed;
}

tl::unexpected<Error> keeps_changing(const fs::Seen& seen) {
  return fail(Kind::conflict, fmt::format("{} changes while it is read", printable(seen.path)),
              "leave it out (.musterignore), stop its writer, or take it as it is: --allow-racy");
}

struct Look {
  bool is_file = false;
  bool may_have_holes = false;  // ones that are worth keeping
};

/// Takes over what the file is now.
Result<Look> look(int fd, fs::Seen& seen) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return cannot_read(seen, errno);
  if (!S_ISREG(info.st_mode)) return Look{};
  seen.mode = static_cast<std::uint16_t>(info.st_mode & 0777);
  seen.size = static_cast<std::uint64_t>(info.st_size);
  seen.mtime_ns = fs::ns_of(info.st_mtim);
  seen.ctime_ns = fs::ns_of(info.st_ctim);
  seen.inode = info.st_ino;
  seen.device = info.st_dev;
  const auto on_disk = static_cast<std::uint64_t>(info.st_blocks) * 512;
  return Look{.is_file = true, .may_have_holes = seen.size >= kLeastHole && on_disk < seen.size};
}

bool is_unchanged(int fd, const fs::Seen& before) {
  fs::Seen after = before;
  const auto looked = look(fd, after);
  return looked && looked->is_file && after.size == before.size &&
         after.mtime_ns == before.mtime_ns && after.ctime_ns == before.ctime_ns;
}

/// Fills it from `offset` on. False when the file ends before.
Result<bool> read_at(int fd, const fs::Seen& seen, std::uint64_t offset, std::span<char> into) {
  while (!into.empty()) {
    const auto n = ::pread(fd, into.data(), into.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannot_read(seen, errno);
    if (n == 0) return false;
    into = into.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return true;
}

/// A stretch of a file, read ahead of what is cut off at its front. Bytes are moved at most once.
class Window {
 public:
  Window(int fd, const fs::Seen& seen, std::uint64_t begin, std::uint64_t end)
      : fd_(fd),
        seen_(seen),
        at_(begin),
        end_(end),
        size_(std::min<std::uint64_t>(end - begin, 2 * tree::kMostChunk)),
        bytes_(std::make_unique_for_overwrite<char[]>(size_)) {}

  std::string_view front() const { return {bytes_.get() + from_, to_ - from_}; }
  void drop(std::size_t size) { from_ += size; }
  /// Afterwards there is the largest chunk in front, or all that is left. False when the file ended
  /// too early.
  Result<bool> fill() {
    if (at_ == end_ || to_ - from_ >= tree::kMostChunk) return true;
    std::memmove(bytes_.get(), bytes_.get() + from_, to_ - from_);
    to_ -= std::exchange(from_, 0);
    const auto room = std::min<std::uint64_t>(size_ - to_, end_ - at_);
    TRY(const bool is_whole, read_at(fd_, seen_, at_, {bytes_.get() + to_, room}));
    at_ += room;
    to_ += room;
    return is_whole;
  }

 private:
  int fd_;
  const fs::Seen& seen_;
  std::uint64_t at_, end_;  // what was not read yet
  std::size_t size_;
  std::unique_ptr<char[]> bytes_;
  std::size_t from_ = 0, to_ = 0;
};

ReadPiece piece_of(std::string bytes) {
  tree::Piece piece{.is_hole = false, .size = bytes.size(), .hash = tree::hash_of(bytes)};
  return {piece, std::move(bytes)};
}

struct Span {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool is_hole = false;
};

/// Data and holes of a file, in order; small holes count as data.
std::vector<Span> spans_of(int fd, std::uint64_t size, bool may_have_holes) {
  std::vector<Span> spans;
  std::uint64_t at = 0;
  while (may_have_holes && at < size) {
    const auto hole = ::lseek(fd, static_cast<off_t>(at), SEEK_HOLE);
    const auto begin =
        hole < 0 ? size : std::min<std::uint64_t>(size, static_cast<std::uint64_t>(hole));
    const auto data = begin < size ? ::lseek(fd, static_cast<off_t>(begin), SEEK_DATA) : -1;
    const auto end =
        data < 0 ? size : std::min<std::uint64_t>(size, static_cast<std::uint64_t>(data));
    const bool is_worth_it = end - begin >= kLeastHole;
    if (!spans.empty() && !spans.back().is_hole && spans.back().end == at)
      spans.back().end = is_worth_it ? begin : end;
    else if ((is_worth_it ? begin : end) > at)
      spans.push_back({at, is_worth_it ? begin : end, false});
    if (is_worth_it) spans.push_back({begin, end, true});
    at = std::max(end, at + 1);
  }
  if (spans.empty() && size > 0) spans.push_back({0, size, false});
  return spans;
}

using OnPiece = std::function<Result<>(ReadPiece&&)>;

/// False when the file was shorter than it should be.
Result<bool> read_span(int fd, const fs::Seen& seen, const Span& span, const OnPiece& each) {
  const bool is_small = seen.size <= tree::kWholeFile;  // cut at its holes only
  Window window(fd, seen, span.begin, span.end);
  for (;;) {
    TRY(const bool is_whole, window.fill());
    if (!is_whole) return false;
    const auto bytes = window.front();
    if (bytes.empty()) return true;
    const auto cut = is_small ? bytes.size() : tree::first_cut(bytes);
    TRY_VOID(each(piece_of(std::string(bytes.substr(0, cut)))));
    window.drop(cut);
  }
}

Result<bool> read_spans(int fd, const fs::Seen& seen, bool may_have_holes, const OnPiece& each) {
  for (const auto& span : spans_of(fd, seen.size, may_have_holes)) {
    if (span.is_hole) {
      TRY_VOID(each({{.is_hole = true, .size = span.end - span.begin, .hash = {}}, {}}));
      continue;
    }
    TRY(const bool is_whole, read_span(fd, seen, span, each));
    if (!is_whole) return false;
  }
  return true;
}

constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

}  // namespace

Result<std::optional<std::vector<ReadPiece>>> read_small(int top, fs::Seen& seen, Racy racy) {
  std::vector<ReadPiece> pieces;
  const auto again = [&] { pieces.clear(); };
  TRY(const bool is_there, read_large(top, seen, racy, again, [&](ReadPiece&& piece) -> Result<> {
        pieces.push_back(std::move(piece));
        return {};
      }));
  if (!is_there) return std::optional<std::vector<ReadPiece>>();
  return std::optional(std::move(pieces));
}

Result<bool> read_large(int top, fs::Seen& seen, Racy racy, const std::function<void()>& restart,
                        const OnPiece& each) {
  for (int tries = 1;; ++tries) {
    const UniqueFd fd = fs::open_below(top, seen.path, kFlags);
    if (!fd && is_gone(errno)) return false;
    if (!fd) return cannot_read(seen, errno);
    TRY(const auto looked, look(fd.get(), seen));
    if (!looked.is_file) return false;
    bool is_whole = true;
    if (seen.size <= tree::kWholeFile && !looked.may_have_holes) {
      std::string bytes(seen.size, '\0');
      TRY(is_whole, read_at(fd.get(), seen, 0, bytes));
      if (is_whole && !bytes.empty()) TRY_VOID(each(piece_of(std::move(bytes))));
    } else {
      TRY(is_whole, read_spans(fd.get(), seen, looked.may_have_holes, each));
    }
    if (is_whole && is_unchanged(fd.get(), seen)) return true;
    if (tries < kTries) {
      restart();
      continue;
    }
    if (racy == Racy::refuse || !is_whole) return keeps_changing(seen);
    return true;
  }
}

}  // namespace muster::snapshot
