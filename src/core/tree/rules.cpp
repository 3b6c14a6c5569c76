#include "core/tree/rules.hpp"

#include "base/text.hpp"

namespace muster::tree {
namespace {

using Fault = std::optional<std::string_view>;

std::string_view parent_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

Fault fault_of_path(std::string_view path, const Limits& limits) {
  if (path.size() > limits.path_bytes) return "is longer than a path may be";
  if (path.find('\0') != std::string_view::npos) return "has a zero byte in its path";
  const auto names = split(path, '/');
  if (names.size() > limits.depth) return "is deeper than folders may be";
  for (const auto name : names) {
    if (name.empty()) return "has an empty name in its path";
    if (name == "." || name == "..") return "has . or .. in its path";
    if (name.size() > limits.name_bytes) return "has a name that is too long";
  }
  return std::nullopt;
}

Fault fault_of_pieces(const Entry& entry, const Limits& limits) {
  std::uint64_t room = kMostBytes;
  bool is_after_hole = false;
  for (const auto& piece : entry.pieces) {
    if (piece.size == 0) return "has a piece without bytes";
    if (piece.size > room) return "is larger than a file can be";
    if (piece.is_hole && is_after_hole) return "has a hole after a hole";
    if (piece.is_hole && piece.hash != Hash{}) return "has a hole with a hash";
    if (!piece.is_hole && piece.size > limits.chunk_bytes) return "has a chunk that is too large";
    room -= piece.size;
    is_after_hole = piece.is_hole;
  }
  return std::nullopt;
}

Fault fault_of_link(const Entry& entry, const Limits& limits) {
  if (entry.mode != 0777) return "is a link with permissions of its own";
  if (entry.target.empty()) return "is a link to nothing";
  if (entry.target.size() > limits.target_bytes) return "is a link whose target is too long";
  if (entry.target.find('\0') != std::string::npos) return "is a link with a zero byte";
  return std::nullopt;
}

}  // namespace

std::optional<std::string_view> fault_of(const Entry& entry, const Limits& limits) {
  if (const auto fault = fault_of_path(entry.path, limits)) return fault;
  if (entry.mode > 0777) return "has more than permission bits";
  if (entry.kind != EntryKind::link && !entry.target.empty()) return "has a target but is no link";
  if (entry.kind != EntryKind::file && !entry.pieces.empty()) return "has bytes but is no file";
  switch (entry.kind) {
    case EntryKind::file: return fault_of_pieces(entry, limits);
    case EntryKind::folder: return std::nullopt;
    case EntryKind::link: return fault_of_link(entry, limits);
  }
  return "is of no known kind";
}

std::optional<std::string_view> WalkOrder::take(const Entry& entry) {
  if (!last_.empty() && !before(last_, entry.path)) return "is not in walk order";
  const auto parent = parent_of(entry.path);
  const bool is_open =
      parent.empty() || (std::string_view(open_).starts_with(parent) &&
                         (open_.size() == parent.size() || open_[parent.size()] == '/'));
  if (!is_open) return "is not below a folder";
  skip_to(entry);
  return std::nullopt;
}

void WalkOrder::skip_to(const Entry& entry) {
  open_ = entry.kind == EntryKind::folder ? std::string_view(entry.path) : parent_of(entry.path);
  last_ = entry.path;
}

}  // namespace muster::tree
