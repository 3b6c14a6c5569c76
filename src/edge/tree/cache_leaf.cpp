#include "edge/tree/cache_leaf.hpp"

#include <algorithm>

#include "base/hash.hpp"

namespace muster::snapshot {
namespace {

constexpr std::size_t kCheck = 8;                           // XXH3-64 of all that follows
constexpr std::size_t kHead = kCheck + 8 + 8 + 8 + 8 + 32;  // rows, entries, bytes, leaf, its hash

void put_piece(std::string& out, const tree::Piece& piece) {
  tree::put_varint(out, piece.size * 2 + (piece.is_hole ? 1 : 0));
  if (!piece.is_hole) tree::put_hash(out, piece.hash);
}

tree::Piece read_piece(tree::Cursor& in) {
  const auto number = in.varint();
  tree::Piece piece{.is_hole = (number & 1) != 0, .size = number / 2, .hash = {}};
  if (!piece.is_hole) piece.hash = in.hash();
  return piece;
}

}  // namespace

std::optional<CachedLeaf> read_cached_leaf(std::string_view bytes) {
  tree::Cursor in(bytes);
  const auto check = in.u64();
  const auto rows = in.u64();
  CachedLeaf leaf;
  leaf.entries = in.u64();
  leaf.bytes = in.u64();
  const auto size = in.u64();
  leaf.leaf = {.is_hole = false, .size = size / 2, .hash = in.hash()};
  leaf.is_ended = (size & 1) != 0;
  leaf.rows = in.take(rows);
  if (in.is_broken() || leaf.entries == 0) return std::nullopt;
  leaf.all = bytes.substr(0, kHead + rows);
  if (xxh3(leaf.all.substr(kCheck)) != check) return std::nullopt;
  return leaf;
}

bool CachedRows::advance() {
  if (left_ == 0) return false;
  --left_;
  auto& in = in_;
  auto& [seen, entry] = current_;
  const auto shared = in.varint();
  entry.path.resize(std::min<std::uint64_t>(shared, entry.path.size()));
  entry.path += in.take(in.varint());
  const auto shape = in.varint();
  entry.kind = static_cast<tree::EntryKind>(shape & 3);
  entry.mode = static_cast<std::uint16_t>((shape >> 2) & 0777);
  entry.target = in.take(in.varint());
  const auto pieces = in.varint();
  entry.pieces.clear();
  for (std::uint64_t i = 0; i < pieces && !in.is_broken(); ++i)
    entry.pieces.push_back(read_piece(in));
  seen.kind = entry.kind;
  seen.mode = entry.mode;
  seen.size = in.varint();
  seen.mtime_ns = static_cast<std::int64_t>(in.u64());
  seen.ctime_ns = static_cast<std::int64_t>(in.u64());
  seen.inode = in.varint();
  seen.device = in.varint();
  if (in.is_broken()) left_ = 0;
  return !in.is_broken();
}

void CachedLeafWriter::add(const fs::Seen& seen, const tree::Entry& entry) {
  const auto differ =
      std::mismatch(entry.path.begin(), entry.path.end(), last_path_.begin(), last_path_.end());
  const auto shared = static_cast<std::size_t>(differ.first - entry.path.begin());
  auto& out = rows_;
  tree::put_varint(out, shared);
  tree::put_varint(out, entry.path.size() - shared);
  out.append(entry.path, shared);
  tree::put_varint(out, static_cast<std::uint64_t>(entry.kind) | std::uint64_t{entry.mode} << 2);
  tree::put_varint(out, entry.target.size());
  out += entry.target;
  tree::put_varint(out, entry.pieces.size());
  for (const auto& piece : entry.pieces) put_piece(out, piece);
  tree::put_varint(out, seen.size);
  tree::put_u64(out, static_cast<std::uint64_t>(seen.mtime_ns));
  tree::put_u64(out, static_cast<std::uint64_t>(seen.ctime_ns));
  tree::put_varint(out, seen.inode);
  tree::put_varint(out, seen.device);
  last_path_ = entry.path;
  ++entries_;
  bytes_ += entry.size();
}

void CachedLeafWriter::end(const tree::Piece& leaf, bool is_ended, std::string& out) {
  std::string head;
  tree::put_u64(head, rows_.size());
  tree::put_u64(head, entries_);
  tree::put_u64(head, bytes_);
  tree::put_u64(head, leaf.size * 2 + (is_ended ? 1 : 0));
  tree::put_hash(head, leaf.hash);
  rows_.insert(0, head);
  tree::put_u64(out, xxh3(rows_));
  out += rows_;
  rows_.clear();
  last_path_.clear();
  entries_ = 0;
  bytes_ = 0;
}

}  // namespace muster::snapshot
