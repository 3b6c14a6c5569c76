#include "edge/tree/send.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/check.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/tree/chunker.hpp"
#include "edge/fs/below.hpp"
#include "edge/tree/batches.hpp"
#include "edge/tree/chunks.hpp"
#include "edge/tree/names.hpp"
#include "edge/tree/pack_queue.hpp"
#include "edge/tree/stat_cache.hpp"

namespace muster::snapshot {
namespace {

constexpr int kReaders = 2;
constexpr std::uint64_t kTellEvery = 256;

/// Where a link leads, as it is; nothing when it is gone.
Result<std::optional<std::string>> read_link(int top, const std::string& path) {
  const auto slash = path.rfind('/');
  const auto folder = slash == std::string::npos ? std::string() : path.substr(0, slash);
  const auto name = slash == std::string::npos ? path : path.substr(slash + 1);
  const UniqueFd dir = fs::open_below(top, folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
  std::string target(4097, '\0');
  const auto n = dir ? ::readlinkat(dir.get(), name.c_str(), target.data(), target.size()) : -1;
  if (n < 0 && (errno == ENOENT || errno == EINVAL || errno == ENOTDIR))
    return std::optional<std::string>();
  if (n < 0) return fail_errno(fmt::format("cannot read the link {}", printable(path)), errno);
  target.resize(static_cast<std::size_t>(n));
  return std::optional(std::move(target));
}

/// One sending. As long as everything is as the cache has it, nothing is written; at the first
/// difference what was passed is made up for from the cache.
class Sender {
 public:
  Sender(BlobStore& blobs, const SendOptions& options, UniqueFd top)
      : blobs_(blobs), options_(options), top_(std::move(top)), chunks_(blobs) {}

  Result<Sent> run();

 private:
  Result<> take(fs::Seen&& seen);
  Result<> begin_writing();
  Result<> settle(bool all);
  Result<> settle(Item&& item);
  Result<> send_large(Item&& item);
  Result<> add_piece(tree::Entry& entry, ReadPiece&& piece);
  Result<> add(const fs::Seen& seen, const tree::Entry& entry);
  Result<bool> is_stored(const tree::Entry& entry);
  Result<> finish_writing();
  void tell();

  BlobStore& blobs_;
  const SendOptions& options_;
  UniqueFd top_;
  Chunks chunks_;
  StatCache cache_;
  bool is_root_stored_ = false;  // of the cache: then everything it names is stored as well
  std::uint64_t same_ = 0;       // entries passed without a difference
  std::optional<PackQueue> packs_;
  std::optional<Batches> batches_;
  std::optional<tree::LeafWriter> leaves_;
  std::optional<StatCacheWriter> next_cache_;
  Progress progress_;
  Sent sent_;
};

Result<Sent> Sender::run() {
  TRY(const auto lock, blobs_.lock(BlobStore::LockKind::shared));
  if (!options_.cache_file.empty()) cache_ = StatCache::open(options_.cache_file, options_.store);
  if (cache_.root()) {
    const auto stored = blobs_.look(tree_name(*cache_.root()));
    if (!stored && stored.error().kind != Kind::not_found)
      return tl::unexpected<Error>(stored.error());
    is_root_stored_ = stored.has_value();
  }
  if (!is_root_stored_) TRY_VOID(begin_writing());
  fs::WalkOptions how{.use_ignore_rules = options_.use_ignore_rules};
  for (const auto& path : options_.leave_out)
    if (path.size() > options_.top.size() && path.starts_with(options_.top + "/"))
      how.leave_out.push_back(path.substr(options_.top.size() + 1));
  TRY(auto report,
      fs::walk(options_.top, how, [&](fs::Seen&& seen) { return take(std::move(seen)); }));
  sent_.ignored_at_top = std::move(report.ignored_at_top);
  sent_.specials = std::move(report.specials);
  if (!leaves_ && same_ != cache_.entries()) TRY_VOID(begin_writing());
  if (leaves_) {
    TRY_VOID(finish_writing());
  } else {
    sent_.is_unchanged = true;
    sent_.id = *cache_.root();
  }
  const auto nonce = to_hex(random_bytes(16));
  TRY_VOID(blobs_.put(pin_name(nonce), tree::to_hex(sent_.id)));
  sent_.pin = nonce;
  return std::move(sent_);
}

Result<> Sender::take(fs::Seen&& seen) {
  if (++progress_.entries % kTellEvery == 0) tell();
  const auto* cached = cache_.find(seen.path);
  const bool is_same = cached != nullptr && cache_.is_same(*cached, seen);
  if (!leaves_ && is_same && cache_.passed() == same_) {
    ++same_;
    return {};
  }
  if (!leaves_) TRY_VOID(begin_writing());
  Item item{.seen = std::move(seen), .entry = {}};
  item.entry.path = item.seen.path;
  item.entry.kind = item.seen.kind;
  item.entry.mode = item.seen.mode;
  item.is_known = item.seen.kind != tree::EntryKind::file;
  if (is_same) {
    TRY(item.is_known, is_stored(cached->entry));
    if (item.is_known) item.entry = cached->entry;
  } else if (item.seen.kind == tree::EntryKind::link) {
    TRY(auto target, read_link(top_.get(), item.seen.path));
    if (!target) return {};
    item.entry.target = std::move(*target);
  }
  if (!item.is_known && item.seen.size > tree::kWholeFile) return send_large(std::move(item));
  // Most are known, and have nobody to wait for.
  if (item.is_known && batches_->is_empty()) return add(item.seen, item.entry);
  batches_->add(std::move(item));
  return settle(false);
}

/// The chunks of a cached entry are there as long as the root it came from is; else they are
/// looked for.
Result<bool> Sender::is_stored(const tree::Entry& entry) {
  if (is_root_stored_) return true;
  for (const auto& piece : entry.pieces) {
    if (piece.is_hole) continue;
    TRY(const bool is_there, chunks_.has(piece.hash));
    if (!is_there && !packs_->has(piece.hash)) return false;
  }
  return true;
}

Result<> Sender::begin_writing() {
  packs_.emplace(blobs_);
  batches_.emplace(top_.get(), options_.racy, kReaders);
  leaves_.emplace([this](std::string leaf) -> Result<> {
    const auto hash = leaves_->root().leaves.back().hash;
    TRY(const bool is_there, chunks_.has(hash));
    if (is_there) return {};
    ++sent_.new_leaves;
    return packs_->add(hash, std::move(leaf));
  });
  if (!options_.cache_file.empty()) {
    // A cache that cannot be written costs time, not the snapshot.
    auto writer = StatCacheWriter::begin(options_.cache_file);
    if (writer) next_cache_.emplace(std::move(*writer));
  }
  // What was passed stands at the beginning of the cache.
  auto passed = cache_.rewound();
  for (std::uint64_t i = 0; i < same_; ++i) {
    const auto* cached = passed.next();
    MUSTER_CHECK(cached != nullptr, "entry {} of the cache was there and is not", i);
    TRY_VOID(add(cached->seen, cached->entry));
  }
  return {};
}

Result<> Sender::settle(bool all) {
  while (auto items = batches_->take(all))
    for (auto& item : *items) TRY_VOID(settle(std::move(item)));
  return {};
}

Result<> Sender::settle(Item&& item) {
  if (!item.is_known) {
    TRY(auto pieces, std::move(item.pieces));
    if (!pieces) return {};  // gone meanwhile
    item.entry.mode = item.seen.mode;
    for (auto& piece : *pieces) TRY_VOID(add_piece(item.entry, std::move(piece)));
    ++sent_.files_read;
    ++progress_.files_read;
  }
  return add(item.seen, item.entry);
}

Result<> Sender::send_large(Item&& item) {
  TRY_VOID(settle(true));  // entries stay in order
  TRY(const bool is_there,
      read_large(
          top_.get(), item.seen, options_.racy, [&] { item.entry.pieces.clear(); },
          [&](ReadPiece&& piece) {
            tell();
            return add_piece(item.entry, std::move(piece));
          }));
  if (!is_there) return {};
  item.entry.mode = item.seen.mode;
  ++sent_.files_read;
  ++progress_.files_read;
  return add(item.seen, item.entry);
}

Result<> Sender::add_piece(tree::Entry& entry, ReadPiece&& piece) {
  entry.pieces.push_back(piece.piece);
  progress_.bytes_read += piece.piece.size;
  if (piece.piece.is_hole || packs_->has(piece.piece.hash)) return {};
  TRY(const bool is_there, chunks_.has(piece.piece.hash));
  if (is_there) return {};
  ++sent_.new_chunks;
  return packs_->add(piece.piece.hash, std::move(piece.bytes));
}

Result<> Sender::add(const fs::Seen& seen, const tree::Entry& entry) {
  TRY_VOID(leaves_->add(entry));
  if (next_cache_ && !next_cache_->add(seen, entry)) next_cache_.reset();
  return {};
}

Result<> Sender::finish_writing() {
  TRY_VOID(settle(true));
  TRY_VOID(leaves_->finish());
  TRY_VOID(packs_->finish());
  sent_.root = leaves_->root();
  const auto bytes = tree::encode(sent_.root);
  sent_.id = tree::hash_of(bytes);
  sent_.is_unchanged = is_root_stored_ && sent_.id == *cache_.root();
  // Last: where the root is, everything it names is.
  TRY_VOID(blobs_.put(tree_name(sent_.id), bytes));
  sent_.stored_bytes = packs_->stored_bytes() + bytes.size();
  if (next_cache_) (void)next_cache_->finish(sent_.id, options_.store);
  tell();
  return {};
}

void Sender::tell() {
  if (options_.on_progress) options_.on_progress(progress_);
}

}  // namespace

Result<Sent> send_tree(BlobStore& blobs, const SendOptions& options) {
  UniqueFd top(::open(options.top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!top)
    return fail_errno(fmt::format("cannot open the folder {}", printable(options.top)), errno);
  return Sender(blobs, options, std::move(top)).run();
}

Result<std::string> pin(BlobStore& blobs, const tree::Hash& id) {
  TRY(const auto lock, blobs.lock(BlobStore::LockKind::shared));
  TRY_VOID(blobs.look(tree_name(id)));
  const auto nonce = to_hex(random_bytes(16));
  TRY_VOID(blobs.put(pin_name(nonce), tree::to_hex(id)));
  return nonce;
}

Result<> unpin(BlobStore& blobs, const std::string& pin) { return blobs.remove(pin_name(pin)); }

}  // namespace muster::snapshot
