#include "core/tree/manifest.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/text.hpp"
#include "core/tree/wire.hpp"

namespace muster::tree {
namespace {

// The last byte is the version.
constexpr std::string_view kRootMagic = "MUSTREE1";
constexpr std::string_view kLeafMagic = "MUSLEAF1";
constexpr std::uint32_t kLeastInLeaf = 64;
constexpr std::size_t kLeastLeafRow = 1 + sizeof(Hash);  // of the root: a size and a hash

Result<> take_magic(Cursor& in, std::string_view magic, std::string_view what) {
  const auto found = in.take(magic.size());
  if (found == magic) return {};
  if (found.starts_with(magic.substr(0, magic.size() - 1)))
    return fail(Kind::usage, fmt::format("the {} was written by another version of muster", what),
                "use the version that wrote it, or a newer one");
  return fail(Kind::corrupt, fmt::format("these bytes are not a {}", what));
}

/// Whether a leaf ends behind this path. It decides which leaves an edit changes, so it never
/// changes: FNV-1a, then mixed so that the low bits depend on every byte.
bool ends_leaf(std::string_view path) {
  std::uint32_t hash = 0x811C'9DC5;
  for (const char c : path) hash = (hash ^ static_cast<unsigned char>(c)) * 0x0100'0193;
  hash = (hash ^ (hash >> 16)) * 0x7FEB'352D;
  hash = (hash ^ (hash >> 15)) * 0x846C'A68B;
  hash ^= hash >> 16;
  return (hash & 511) == 0;
}

std::size_t shared_prefix(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                                  a.begin());
}

void put_pieces(std::string& out, const std::vector<Piece>& pieces) {
  put_varint(out, pieces.size());
  for (const auto& piece : pieces) {
    put_varint(out, piece.size << 1 | (piece.is_hole ? 1 : 0));
    if (!piece.is_hole) put_hash(out, piece.hash);
  }
}

/// `last` is the path before it in the same leaf, empty for the first.
std::string encode_entry(const Entry& entry, std::string_view last) {
  std::string out;
  const auto shared = shared_prefix(last, entry.path);
  put_varint(out, shared);
  put_varint(out, entry.path.size() - shared);
  out.append(entry.path, shared);
  put_varint(out,
             static_cast<std::uint64_t>(entry.mode) << 2 | static_cast<std::uint64_t>(entry.kind));
  if (entry.kind == EntryKind::file) put_pieces(out, entry.pieces);
  if (entry.kind == EntryKind::link) {
    put_varint(out, entry.target.size());
    out += entry.target;
  }
  return out;
}

Result<std::string> read_path(Cursor& in, std::string_view last, const Limits& limits) {
  const auto shared = in.varint();
  const auto rest = in.take(in.varint());
  if (in.is_broken() || shared > last.size() || rest.size() > limits.path_bytes)
    return fail(Kind::corrupt, "a path is cut off or too long");
  // One form for each path: what is shared is never spelled out.
  if (shared < last.size() && rest.starts_with(last[shared]))
    return fail(Kind::corrupt, "a path shares more than it says");
  std::string path(last.substr(0, shared));
  return path.append(rest);
}

Result<std::vector<Piece>> read_pieces(Cursor& in) {
  const auto count = in.varint();
  if (count > in.left()) return fail(Kind::corrupt, "a file has more pieces than bytes follow");
  std::vector<Piece> pieces;
  // Every other piece at least has a hash, so the bytes that are left bound the memory.
  pieces.reserve(std::min<std::size_t>(count, in.left() / sizeof(Hash) * 2 + 1));
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto head = in.varint();
    Piece piece{.is_hole = (head & 1) != 0, .size = head >> 1};
    if (!piece.is_hole) piece.hash = in.hash();
    if (in.is_broken()) return fail(Kind::corrupt, "the pieces of a file are cut off");
    if (piece.is_hole && !pieces.empty() && pieces.back().is_hole)
      return fail(Kind::corrupt, "a file has a hole after a hole");
    pieces.push_back(piece);
  }
  return pieces;
}

Result<Entry> read_entry(Cursor& in, std::string_view last, const Limits& limits) {
  Entry entry;
  TRY(entry.path, read_path(in, last, limits));
  const auto head = in.varint();
  if (head >> 2 > 0777 || (head & 3) > static_cast<std::uint64_t>(EntryKind::link))
    return fail(Kind::corrupt, "an entry has an unknown kind or mode");
  entry.kind = static_cast<EntryKind>(head & 3);
  entry.mode = static_cast<std::uint16_t>(head >> 2);
  if (entry.kind == EntryKind::file) {
    TRY(entry.pieces, read_pieces(in));
  }
  if (entry.kind == EntryKind::link) entry.target = in.take(in.varint());
  if (in.is_broken()) return fail(Kind::corrupt, "an entry is cut off");
  return entry;
}

}  // namespace

std::string encode(const Root& root) {
  std::string out(kRootMagic);
  put_varint(out, root.entries);
  put_varint(out, root.bytes);
  put_varint(out, root.leaves.size());
  for (const auto& leaf : root.leaves) {
    put_varint(out, leaf.size);
    put_hash(out, leaf.hash);
  }
  return out;
}

Result<Root> decode_root(std::string_view bytes, const Limits& limits) {
  Cursor in(bytes);
  TRY_VOID(take_magic(in, kRootMagic, "snapshot's root"));
  Root root{.entries = in.varint(), .bytes = in.varint()};
  const auto count = in.varint();
  if (count > in.left() / kLeastLeafRow)
    return fail(Kind::corrupt, "the root is cut off: it names more leaves than follow");
  root.leaves.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Piece leaf{.size = in.varint(), .hash = in.hash()};
    if (leaf.size <= kLeafMagic.size() || leaf.size > limits.leaf_bytes)
      return fail(Kind::corrupt, fmt::format("leaf {} cannot have {} bytes", i, leaf.size));
    root.leaves.push_back(leaf);
  }
  if (in.is_broken() || in.left() != 0)
    return fail(Kind::corrupt, "the root does not end where it should");
  if (root.entries > limits.entries || root.bytes > kMostBytes)
    return fail(Kind::corrupt, "the root's totals are beyond the limits");
  // No leaf is empty, and none has more than it may.
  if (root.entries < count || root.entries > count * kLeafEntries)
    return fail(Kind::corrupt, fmt::format("{} entries do not fit {} leaves", root.entries, count));
  return root;
}

Result<> LeafWriter::add(const Entry& entry) {
  const auto refuse = [&](std::string_view why) {
    return fail(Kind::usage, fmt::format("{} {}", printable(entry.path), why),
                "leave it out of the snapshot by an ignore rule");
  };
  const Limits limits;
  if (const auto fault = fault_of(entry, limits)) return refuse(*fault);
  if (root_.entries >= limits.entries) return refuse("is one entry too many");
  if (root_.bytes + entry.size() > kMostBytes) return refuse("makes the snapshot too large");
  // Every leaf begins anew, so that it depends on its own entries only.
  const auto text = encode_entry(entry, in_leaf_ == 0 ? std::string_view() : order_.last());
  if (text.size() > kEntrySize) return refuse("is a file of too many pieces");
  if (const auto fault = order_.take(entry)) return refuse(*fault);
  if (in_leaf_ == 0) leaf_ = kLeafMagic;
  leaf_ += text;
  ++in_leaf_;
  ++root_.entries;
  root_.bytes += entry.size();
  const bool is_full = in_leaf_ >= kLeafEntries || leaf_.size() >= kLeafSize;
  if (is_full || (in_leaf_ >= kLeastInLeaf && ends_leaf(entry.path))) return flush();
  return {};
}

Result<> LeafWriter::keep(const Piece& leaf, std::uint64_t entries, std::uint64_t bytes,
                          const Entry& last) {
  MUSTER_CHECK(is_between_leaves(), "a leaf kept inside another one");
  const Limits limits;
  if (entries > limits.entries - root_.entries || bytes > kMostBytes - root_.bytes)
    return fail(Kind::usage, "there is more in the folder than a snapshot can have",
                "leave some of it out by ignore rules");
  order_.skip_to(last);
  root_.leaves.push_back(leaf);
  root_.entries += entries;
  root_.bytes += bytes;
  return {};
}

Result<> LeafWriter::flush() {
  root_.leaves.push_back({.size = leaf_.size(), .hash = hash_of(leaf_)});
  in_leaf_ = 0;
  return on_leaf_(std::exchange(leaf_, {}));
}

Result<> LeafWriter::finish() { return in_leaf_ == 0 ? Result<>() : flush(); }

Result<> LeafReader::check(const Entry& entry) {
  auto fault = fault_of(entry, limits_);
  if (!fault) fault = order_.take(entry);
  if (fault) return fail(Kind::corrupt, fmt::format("{} {}", printable(entry.path), *fault));
  // Neither side of the comparison can overflow: both are at most kMostBytes.
  if (entries_ >= root_.entries || entry.size() > root_.bytes - bytes_)
    return fail(Kind::corrupt, "the leaves hold more than the root says");
  ++entries_;
  bytes_ += entry.size();
  return {};
}

Result<std::vector<Entry>> LeafReader::read(std::string_view leaf) {
  if (next_leaf_ >= root_.leaves.size())
    return fail(Kind::corrupt, "a leaf the root does not name");
  const auto where = fmt::format("leaf {} of the snapshot", next_leaf_);
  if (leaf.size() != root_.leaves[next_leaf_].size || leaf.size() > limits_.leaf_bytes)
    return within<std::vector<Entry>>(fail(Kind::corrupt, "not of the size the root says"), where);
  ++next_leaf_;
  Cursor in(leaf);
  TRY_VOID(within(take_magic(in, kLeafMagic, "snapshot's leaf"), where));
  std::vector<Entry> entries;
  while (in.left() != 0) {
    if (entries.size() == kLeafEntries)
      return within<std::vector<Entry>>(fail(Kind::corrupt, "too many entries"), where);
    const std::string_view last = entries.empty() ? std::string_view() : entries.back().path;
    TRY(auto entry, within(read_entry(in, last, limits_), where));
    TRY_VOID(within(check(entry), where));
    entries.push_back(std::move(entry));
  }
  if (entries.empty()) return within<std::vector<Entry>>(fail(Kind::corrupt, "no entries"), where);
  return entries;
}

Result<> LeafReader::finish() const {
  if (next_leaf_ != root_.leaves.size() || entries_ != root_.entries || bytes_ != root_.bytes)
    return fail(Kind::corrupt, "the leaves hold less than the root says");
  return {};
}

}  // namespace muster::tree
