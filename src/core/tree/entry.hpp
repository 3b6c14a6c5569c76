/// What a snapshot is made of: entries in walk order, their content as chunks and holes.
/// Walk order: a folder comes before what is in it, names in a folder by their bytes.
#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::tree {

/// SHA-256 of a chunk's bytes, or of a root (then it is the snapshot's id).
struct Hash {
  std::array<std::uint8_t, 32> bytes{};
  auto operator<=>(const Hash&) const = default;
};

/// A piece of a file: a chunk, or a hole. A hole is never followed by another one.
struct Piece {
  bool is_hole = false;
  std::uint64_t size = 0;
  Hash hash;  // all zero for a hole
  auto operator<=>(const Piece&) const = default;
};

enum class EntryKind : std::uint8_t { file = 0, folder = 1, link = 2 };

struct Entry {
  std::string path;  // relative to the top, parts separated by '/', bytes as they are
  EntryKind kind = EntryKind::file;
  std::uint16_t mode = 0644;  // permission bits, 0 to 0777; 0777 for links
  std::string target;         // links: where to, as it was
  std::vector<Piece> pieces;  // files: in order; their sizes add up to the file's
  auto operator<=>(const Entry&) const = default;
  std::uint64_t size() const {
    std::uint64_t sum = 0;
    for (const auto& piece : pieces) sum += piece.size;
    return sum;
  }
};

/// Walk order of two paths: by parts, so "a/b" comes right after "a" and before "a-b".
bool before(std::string_view a, std::string_view b);

std::string to_hex(const Hash& hash);
/// Nothing unless it is 64 lower-case hex digits.
std::optional<Hash> from_hex(std::string_view text);
Hash hash_of(std::string_view bytes);

}  // namespace muster::tree
