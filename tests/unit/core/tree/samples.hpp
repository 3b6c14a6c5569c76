/// Values for the tests of trees: bytes without a pattern, and trees of every shape.
#pragma once
#include <rapidcheck.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "core/tree/manifest.hpp"

namespace muster::tree {

inline std::string noise(std::size_t size, std::uint64_t seed) {
  Rng rng(seed);
  std::string bytes((size + 7) / 8 * 8, '\0');
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const auto number = rng.next();
    std::memcpy(bytes.data() + at, &number, sizeof number);
  }
  bytes.resize(size);
  return bytes;
}

inline Piece chunk(std::uint64_t size, std::uint64_t seed) {
  return {.size = size, .hash = hash_of(std::to_string(seed))};
}
inline Piece hole(std::uint64_t size) { return {.is_hole = true, .size = size}; }
inline Entry file(std::string path, std::vector<Piece> pieces = {}) {
  return {.path = std::move(path), .pieces = std::move(pieces)};
}
inline Entry folder(std::string path) {
  return {.path = std::move(path), .kind = EntryKind::folder, .mode = 0755};
}
inline Entry link(std::string path, std::string target) {
  return {.path = std::move(path), .kind = EntryKind::link, .mode = 0777, .target = target};
}

struct Written {
  Root root;
  std::vector<std::string> leaves;
};

inline Result<Written> write(const std::vector<Entry>& entries) {
  Written written;
  LeafWriter writer([&](std::string leaf) {
    written.leaves.push_back(std::move(leaf));
    return Result<>();
  });
  for (const auto& entry : entries) TRY_VOID(writer.add(entry));
  TRY_VOID(writer.finish());
  written.root = writer.root();
  return written;
}

inline Result<std::vector<Entry>> read(const Root& root, const std::vector<std::string>& leaves) {
  LeafReader reader(root);
  std::vector<Entry> all;
  for (const auto& leaf : leaves) {
    TRY(const auto entries, reader.read(leaf));
    all.insert(all.end(), entries.begin(), entries.end());
  }
  TRY_VOID(reader.finish());
  return all;
}

/// Any bytes a file system takes as a name.
inline std::string any_name() {
  auto name =
      *rc::gen::oneOf(rc::gen::arbitrary<std::string>(),
                      rc::gen::element<std::string>("a", "b", "a-b", "a b", "a\nb", "\xff\xfe",
                                                    ".a", "...", "a.py"),
                      rc::gen::map(rc::gen::inRange<std::size_t>(200, 256),
                                   [](std::size_t size) { return std::string(size, 'n'); }));
  for (auto& c : name)
    if (c == '/' || c == '\0') c = '\x01';
  if (name.empty() || name == "." || name == "..") name = "e";
  return name.substr(0, 255);
}

inline std::vector<Piece> any_pieces() {
  std::vector<Piece> pieces;
  const int count = *rc::gen::inRange(0, 5);
  for (int i = 0; i < count; ++i) {
    const bool is_hole = *rc::gen::inRange(0, 3) == 0;
    if (is_hole && (pieces.empty() || !pieces.back().is_hole))
      pieces.push_back(hole(*rc::gen::inRange<std::uint64_t>(1, std::uint64_t{1} << 50)));
    else
      pieces.push_back(chunk(*rc::gen::inRange<std::uint64_t>(1, kMostChunk + 1), i));
  }
  return pieces;
}

inline Entry any_entry(std::string path) {
  const int what = *rc::gen::inRange(0, 5);
  if (what == 0) return link(std::move(path), "../" + any_name());
  auto entry = what < 3 ? folder(std::move(path)) : file(std::move(path), any_pieces());
  entry.mode = *rc::gen::inRange<std::uint16_t>(0, 01000);
  return entry;
}

/// In walk order; flat, bushy or one long path.
inline std::vector<Entry> any_tree(int most) {
  struct Before {
    bool operator()(const std::string& a, const std::string& b) const { return before(a, b); }
  };
  std::map<std::string, Entry, Before> tree;
  std::vector<std::string> folders{""};
  const bool is_deep = *rc::gen::arbitrary<bool>();
  const int count = *rc::gen::inRange(0, most);
  for (int i = 0; i < count; ++i) {
    const auto& above = is_deep ? folders.back() : *rc::gen::elementOf(folders);
    const auto path = above.empty() ? any_name() : above + "/" + any_name();
    if (path.size() > Limits().path_bytes || tree.contains(path)) continue;
    const auto entry = any_entry(path);
    if (entry.kind == EntryKind::folder) folders.push_back(path);
    tree.emplace(path, entry);
  }
  std::vector<Entry> entries;
  for (auto& [path, entry] : tree) entries.push_back(entry);
  return entries;
}

}  // namespace muster::tree
