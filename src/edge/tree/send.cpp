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

/// One sending. A leaf in which everything is as the cache has it is kept as it is: of its entries
/// nothing is made but the comparison. Of others, what was passed until the difference came is made
/// up for from the cache. As long as there is no difference, nothing is written.
class Sender {
 public:
  /// What a trusted root names is not looked for: it is stored as long as the root is.
  enum class Trust { roots, nobody };
  Sender(BlobStore& blobs, const SendOptions& options, UniqueFd top, Trust trust)
      : blobs_(blobs),
        options_(options),
        trust_(trust),
        top_(std::move(top)),
        chunks_(blobs),
        leaves_([this](std::string leaf) { return take_leaf(std::move(leaf)); }) {}
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  Result<Sent> run();
  bool has_seen_damage() const { return chunks_.is_damaged(); }

 private:
  Result<> take(fs::Seen&& seen);
  bool may_pass() const;
  Result<> pass();
  Result<> keep_passed();
  Result<> write_passed();
  Result<> take_leaf(std::string leaf);
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
  Trust trust_;
  UniqueFd top_;
  Chunks chunks_;
  StatCache cache_;
  bool is_root_stored_ = false;  // of the cache: then everything it names is stored as well
  CachedLeaf passing_;           // the cached leaf all entries of which were the same so far,
  std::uint64_t passed_ = 0;     // and how many these are; none: there is no such leaf
  std::uint64_t kept_ = 0;       // entries of leaves that were kept
  std::size_t kept_bytes_ = 0;   // of these leaves in the cache, until something is written
  tree::LeafWriter leaves_;
  bool is_last_leaf_ = false;  // ended because the tree is
  // From the first difference on.
  std::optional<PackQueue> packs_;
  std::optional<Batches> batches_;
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
    is_root_stored_ = stored.has_value() && trust_ == Trust::roots;
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
  sent_.partly_at_top = std::move(report.partly_at_top);
  sent_.index_fault = std::move(report.index_fault);
  if (passed_ > 0) TRY_VOID(passed_ == passing_.entries ? keep_passed() : write_passed());
  if (!packs_ && kept_ != cache_.entries()) TRY_VOID(begin_writing());
  if (packs_) {
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
  if (is_same && may_pass()) return pass();
  TRY_VOID(write_passed());
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

/// Where the current entry of the cache is the next of a leaf that may be kept.
bool Sender::may_pass() const {
  if (!is_root_stored_ || cache_.place_in_leaf() != passed_) return false;
  if (passed_ > 0 && cache_.leaf().all.data() != passing_.all.data()) return false;
  // Before anything is written, the cache is gone through without a gap.
  if (!packs_) return cache_.passed() == kept_ + passed_;
  return batches_->is_empty() && leaves_.is_between_leaves();
}

Result<> Sender::pass() {
  if (passed_ == 0) passing_ = cache_.leaf();
  ++passed_;
  // A leaf that ended with its tree would have gone on if there had been more.
  return passed_ == passing_.entries && passing_.is_ended ? keep_passed() : Result<>();
}

Result<> Sender::keep_passed() {
  TRY_VOID(leaves_.keep(passing_.leaf, passing_.entries, passing_.bytes, cache_.current().entry));
  kept_ += std::exchange(passed_, 0);
  if (!packs_) kept_bytes_ += passing_.all.size();
  if (next_cache_ && !next_cache_->keep(passing_.all)) next_cache_.reset();
  return {};
}

/// What was passed is not all of its leaf.
Result<> Sender::write_passed() {
  if (!packs_) TRY_VOID(begin_writing());
  CachedRows rows(passing_);
  for (; passed_ > 0; --passed_) {
    MUSTER_CHECK(rows.advance(), "an entry of the cache was there and is not");
    TRY_VOID(add(rows.current().seen, rows.current().entry));
  }
  return {};
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
  if (options_.cache_file.empty()) return {};
  // A cache that cannot be written costs time, not the snapshot.
  auto writer = StatCacheWriter::begin(options_.cache_file);
  if (writer) next_cache_.emplace(std::move(*writer));
  // What was kept so far stands at the beginning of the cache.
  cache_.first_leaves(kept_bytes_, [this](std::string_view leaves) {
    if (next_cache_ && !next_cache_->keep(leaves)) next_cache_.reset();
  });
  return {};
}

Result<> Sender::take_leaf(std::string leaf) {
  const auto& piece = leaves_.root().leaves.back();
  if (next_cache_ && !next_cache_->end_leaf(piece, !is_last_leaf_)) next_cache_.reset();
  TRY(const bool is_there, chunks_.has(piece.hash));
  if (is_there) return {};
  ++sent_.new_leaves;
  return packs_->add(piece.hash, std::move(leaf));
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
  if (next_cache_) next_cache_->add(seen, entry);
  return leaves_.add(entry);
}

Result<> Sender::finish_writing() {
  TRY_VOID(settle(true));
  is_last_leaf_ = true;
  TRY_VOID(leaves_.finish());
  TRY_VOID(packs_->finish());
  sent_.root = leaves_.root();
  const auto bytes = tree::encode(sent_.root);
  sent_.id = tree::hash_of(bytes);
  sent_.is_unchanged = is_root_stored_ && sent_.id == *cache_.root();
  // Last: where the root is, everything it names is.
  TRY_VOID(blobs_.put(tree_name(sent_.id), bytes));
  sent_.stored_bytes = packs_->stored_bytes() + bytes.size();
  if (next_cache_) (void)next_cache_->finish(sent_.id, sent_.root.entries, options_.store);
  tell();
  return {};
}

void Sender::tell() {
  if (options_.on_progress) options_.on_progress(progress_);
}

}  // namespace

Result<Sent> send_tree(BlobStore& blobs, const SendOptions& options) {
  const auto attempt = [&](Sender::Trust trust, bool& is_damaged) -> Result<Sent> {
    UniqueFd top(::open(options.top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!top)
      return fail_errno(fmt::format("cannot open the folder {}", printable(options.top)), errno);
    Sender sender(blobs, options, std::move(top), trust);
    auto sent = sender.run();
    is_damaged = sender.has_seen_damage();
    return sent;
  };
  bool is_damaged = false;
  auto sent = attempt(Sender::Trust::roots, is_damaged);
  if (!sent || !is_damaged) return sent;
  // Where packs are lost a root proves nothing: every chunk is looked for, and sent if it is gone.
  (void)unpin(blobs, sent->pin);
  return attempt(Sender::Trust::nobody, is_damaged);
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
