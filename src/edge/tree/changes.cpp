#include "edge/tree/changes.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "base/text.hpp"
#include "edge/fs/below.hpp"
#include "edge/fs/files.hpp"
#include "edge/tree/manifest_read.hpp"

namespace muster::snapshot {
namespace {

using Kind = FolderEntry::Kind;

bool is_kind(const tree::Entry& entry, Kind kind) {
  switch (entry.kind) {
    case tree::EntryKind::file: return kind == Kind::file;
    case tree::EntryKind::folder: return kind == Kind::folder;
    case tree::EntryKind::link: return kind == Kind::link;
  }
  return false;
}

/// True when the next bytes of the file are those of the piece.
Result<bool> has_piece(int fd, const tree::Piece& piece, std::uint64_t at,
                       const std::string& path) {
  constexpr std::uint64_t kStep = 4U << 20;  // a chunk fits; a hole may be larger
  std::string bytes;
  for (std::uint64_t done = 0; done < piece.size;) {
    bytes.resize(std::min(kStep, piece.size - done));
    const auto n = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(at + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(fmt::format("cannot read {}", printable(path)), errno);
    if (static_cast<std::size_t>(n) != bytes.size()) return false;
    if (!piece.is_hole) return tree::hash_of(bytes) == piece.hash;
    if (bytes.find_first_not_of('\0') != std::string::npos) return false;
    done += bytes.size();
  }
  return true;
}

/// True when two open files have the same bytes up to `size`.
Result<bool> has_same_bytes(int was, int is, std::uint64_t size, const std::string& path) {
  constexpr std::uint64_t kStep = 1U << 20;
  std::string before, after;
  for (std::uint64_t at = 0; at < size; at += kStep) {
    const auto step = std::min(kStep, size - at);
    for (auto [fd, bytes] : {std::pair(was, &before), std::pair(is, &after)}) {
      bytes->resize(step);
      const auto n = ::pread(fd, bytes->data(), step, static_cast<off_t>(at));
      if (n < 0) return fail_errno(fmt::format("cannot read {}", printable(path)), errno);
      bytes->resize(static_cast<std::size_t>(n));
    }
    if (before != after) return false;
  }
  return true;
}

/// A file, folder or link of a prepared tree as an entry; nothing for others, which nobody
/// compares.
std::optional<tree::Entry> entry_of(const FolderEntry& found) {
  tree::Entry entry{.path = found.path, .mode = found.mode, .target = found.target};
  switch (found.kind) {
    case Kind::file: entry.kind = tree::EntryKind::file; break;
    case Kind::folder: entry.kind = tree::EntryKind::folder; break;
    case Kind::link: entry.kind = tree::EntryKind::link; break;
    case Kind::special:
    case Kind::whiteout: return std::nullopt;
  }
  if (found.size > 0) entry.pieces.push_back({.is_hole = false, .size = found.size, .hash = {}});
  return entry;
}

/// What the job began with.
class Beginning {
 public:
  static Result<Beginning> open(Chunks& chunks, const tree::Hash& id, const std::string& prepared) {
    Beginning begin;
    if (prepared.empty()) {
      TRY(auto stream, EntryStream::open(chunks, id));
      begin.snapshot_.emplace(std::move(stream));
    } else {
      TRY(auto stream, FolderStream::open(prepared));
      begin.folder_.emplace(std::move(stream));
    }
    return begin;
  }

  Result<std::optional<tree::Entry>> next() {
    if (snapshot_) return snapshot_->next();
    for (;;) {
      TRY(const auto found, folder_->next());
      if (!found) return std::optional<tree::Entry>();
      if (auto entry = entry_of(*found)) return entry;
    }
  }

  /// Its file of this path is what lies behind `fd`.
  Result<bool> has_bytes_of(const tree::Entry& entry, int fd) const {
    if (folder_) {
      const auto was = fs::open_below(folder_->top(), entry.path, O_RDONLY | O_NONBLOCK);
      if (!was) return fail_errno(fmt::format("cannot open {}", printable(entry.path)), errno);
      return has_same_bytes(was.get(), fd, entry.size(), entry.path);
    }
    std::uint64_t at = 0;
    for (const auto& piece : entry.pieces) {
      TRY(const bool is_there, has_piece(fd, piece, at, entry.path));
      if (!is_there) return false;
      at += piece.size;
    }
    return true;
  }

 private:
  std::optional<EntryStream> snapshot_;
  std::optional<FolderStream> folder_;
};

/// Two streams side by side: what there was, and what lies in the folder.
class Comparison {
 public:
  Comparison(Beginning old, FolderStream now, const JobTree& job,
             const std::function<Result<>(const FolderChange&)>& each)
      : old_(std::move(old)), now_(std::move(now)), job_(job), each_(each) {}

  Result<> run() {
    TRY(auto before, old_.next());
    TRY(auto after, now_.next());
    while (before || after) {
      const bool takes_old = before && (!after || !tree::before(after->path, before->path));
      const bool takes_new = after && (!before || !tree::before(before->path, after->path));
      FolderChange change;
      if (takes_old) change.before = std::move(before);
      if (takes_new) change.after = std::move(after);
      TRY_VOID(look_at(std::move(change)));
      if (takes_old) {
        TRY(before, old_.next());
      }
      if (takes_new) {
        TRY(after, now_.next());
      }
    }
    return {};
  }

 private:
  Result<> look_at(FolderChange&& change) {
    if (!change.after) return is_shown_through(change.path()) ? Result<>() : each_(change);
    const auto kind = change.after->kind;
    if (kind == Kind::whiteout || change.after->is_opaque ||
        (change.before && change.before->kind == tree::EntryKind::folder && kind != Kind::folder))
      hide_below(change.path());
    if (kind == Kind::whiteout) change.after.reset();
    if (!change.before && (!change.after || is_own_link(*change.after))) return {};
    if (change.before && change.after) {
      TRY(const bool is_same, is_equal(*change.before, *change.after));
      if (is_same) return {};
    }
    return each_(change);
  }

  /// Of an overlay: it is not in the upper folder, so it is what it was, unless hidden.
  bool is_shown_through(const std::string& path) const {
    return job_.is_overlay && !is_hidden(path);
  }
  bool is_hidden(const std::string& path) const {
    return !hidden_.empty() && path.size() > hidden_.size() && path.starts_with(hidden_) &&
           path[hidden_.size()] == '/';
  }
  /// What is hidden once stays so with everything in it: the outermost folder is enough to know.
  void hide_below(const std::string& path) {
    if (!is_hidden(path)) hidden_ = path;
  }

  bool is_own_link(const FolderEntry& entry) const {
    return entry.kind == Kind::link &&
           std::find(job_.links.begin(), job_.links.end(), std::pair(entry.path, entry.target)) !=
               job_.links.end();
  }

  Result<bool> is_equal(const tree::Entry& before, const FolderEntry& after) const {
    if (!is_kind(before, after.kind) || before.mode != after.mode) return false;
    if (after.kind == Kind::link) return before.target == after.target;
    if (after.kind != Kind::file) return true;
    if (before.size() != after.size) return false;
    const auto fd = fs::open_below(now_.top(), after.path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    // The job goes on meanwhile; or it took the right to read away, which is a change.
    if (!fd && (errno == ENOENT || errno == EACCES)) return false;
    if (!fd) return fail_errno(fmt::format("cannot open {}", printable(after.path)), errno);
    return old_.has_bytes_of(before, fd.get());
  }

  Beginning old_;
  FolderStream now_;
  const JobTree& job_;
  const std::function<Result<>(const FolderChange&)>& each_;
  std::string hidden_;  // nothing of the snapshot shows below this
};

}  // namespace

std::optional<JobTree> find_job_tree(const std::string& attempt_dir, const std::string& name) {
  // While an overlay is mounted both are there; what was written is in `up`.
  if (const auto up = attempt_dir + "/up"; fs::exists(up))
    return JobTree{.folder = up, .is_overlay = true, .links = {}, .prepared = {}};
  if (const auto copy = attempt_dir + "/dir/" + name; fs::exists(copy))
    return JobTree{.folder = copy, .is_overlay = false, .links = {}, .prepared = {}};
  return std::nullopt;
}

Result<> job_changes(Chunks& chunks, const tree::Hash& id, const JobTree& job,
                     const std::function<Result<>(const FolderChange&)>& each) {
  TRY(auto before, Beginning::open(chunks, id, job.prepared));
  TRY(auto now, FolderStream::open(job.folder));
  return Comparison(std::move(before), std::move(now), job, each).run();
}

}  // namespace muster::snapshot
