// Manifests nobody of ours wrote: refused, or read as entries that keep every rule.
#include <rapidcheck/gtest.h>

#include <set>

#include "base/text.hpp"
#include "core/tree/wire.hpp"
#include "unit/core/tree/samples.hpp"

namespace muster::tree {
namespace {

constexpr std::uint64_t kFile = 0644 << 2 | 0;
constexpr std::uint64_t kFolder = 0755 << 2 | 1;
constexpr std::uint64_t kLink = 0777 << 2 | 2;

std::string number(std::uint64_t value) {
  std::string out;
  put_varint(out, value);
  return out;
}
std::string text(std::string_view bytes) { return number(bytes.size()) + std::string(bytes); }
std::string row(std::string_view path, std::uint64_t head, const std::string& rest = {}) {
  return number(0) + text(path) + number(head) + rest;
}
std::string empty_file(std::string_view path) { return row(path, kFile, number(0)); }
std::string piece(std::uint64_t size) { return number(size << 1) + std::string(32, 'h'); }

/// A root that fits a leaf of these rows.
Root root_for(const std::string& leaf, std::uint64_t entries, std::uint64_t bytes) {
  return {
      .entries = entries, .bytes = bytes, .leaves = {{.size = leaf.size(), .hash = hash_of(leaf)}}};
}

struct Outcome {
  bool is_read = false;
  std::string why;
};

Outcome outcome_of(const std::string& rows, std::uint64_t entries, std::uint64_t bytes = 0) {
  const auto leaf = "MUSLEAF1" + rows;
  const auto got = read(root_for(leaf, entries, bytes), {leaf});
  if (got) return {.is_read = true};
  EXPECT_EQ(got.error().kind, Kind::corrupt);
  return {.why = got.error().what};
}

void expect_refused(const std::string& rows, std::string_view why, std::uint64_t entries = 1,
                    std::uint64_t bytes = 0) {
  const auto outcome = outcome_of(rows, entries, bytes);
  EXPECT_FALSE(outcome.is_read) << why;
  EXPECT_NE(outcome.why.find(why), std::string::npos) << outcome.why << ", not: " << why;
}

TEST(HostileManifest, HandWrittenRowsAreReadWhenTheyKeepTheRules) {
  EXPECT_TRUE(outcome_of(empty_file("a"), 1).is_read);
  EXPECT_TRUE(
      outcome_of(row("a", kFolder) + number(1) + text("/b") + number(kFile) + number(1) + piece(5),
                 2, 5)
          .is_read);
  EXPECT_TRUE(outcome_of(row("a", kLink, text("/etc")), 1).is_read);
}

TEST(HostileManifest, PathsThatLeaveTheTopAreRefused) {
  expect_refused(empty_file(""), "empty name");
  expect_refused(empty_file("/etc/passwd"), "empty name");
  expect_refused(empty_file("a//b"), "empty name");
  expect_refused(empty_file("a/"), "empty name");
  expect_refused(empty_file("."), ". or ..");
  expect_refused(empty_file("../a"), ". or ..");
  expect_refused(row("a", kFolder) + number(1) + text("/../b") + number(kFile) + number(0),
                 ". or ..", 2);
  expect_refused(empty_file(std::string_view("a\0b", 3)), "zero byte");
  expect_refused(empty_file(std::string(256, 'a')), "name that is too long");
  expect_refused(empty_file(std::string(4097, 'a')), "too long");
}

TEST(HostileManifest, EntriesWithoutTheirFolderAreRefused) {
  expect_refused(empty_file("a/b"), "not below a folder");
  expect_refused(empty_file("a") + number(1) + text("/b") + number(kFile) + number(0),
                 "not below a folder", 2);
  // A file below a link would be written where the link leads.
  expect_refused(row("a", kLink, text("/etc")) + number(1) + text("/b") + number(kFile) + number(0),
                 "not below a folder", 2);
  expect_refused(row("ab", kFolder) + number(2) + text("c/d") + number(kFile) + number(0),
                 "not below a folder", 2);
}

TEST(HostileManifest, EntriesOutOfOrderAreRefused) {
  expect_refused(empty_file("b") + empty_file("a"), "walk order", 2);
  expect_refused(empty_file("a") + number(1) + text("") + number(kFile) + number(0), "walk order",
                 2);
  expect_refused(row("a", kFolder) + number(1) + text("-b") + number(kFile) + number(0) +
                     number(1) + text("/c") + number(kFile) + number(0),
                 "walk order", 3);
}

TEST(HostileManifest, OrderHoldsAcrossLeaves) {
  const auto first = "MUSLEAF1" + empty_file("b");
  const auto second = "MUSLEAF1" + empty_file("a");
  auto root = root_for(first, 2, 0);
  root.leaves.push_back({.size = second.size(), .hash = hash_of(second)});
  EXPECT_FALSE(read(root, {first, second}));
  EXPECT_FALSE(read(root, {first, first}));
  std::swap(root.leaves[0], root.leaves[1]);
  EXPECT_TRUE(read(root, {second, first}));
}

TEST(HostileManifest, KindsModesAndTargetsAreChecked) {
  expect_refused(row("a", 0644 << 2 | 3), "kind or mode");
  expect_refused(row("a", 01644 << 2, number(0)), "kind or mode");
  expect_refused(row("a", 0755 << 2 | 2, text("b")), "permissions of its own");
  expect_refused(row("a", kLink, text("")), "link to nothing");
  expect_refused(row("a", kLink, text(std::string(4097, 't'))), "target is too long");
  expect_refused(row("a", kLink, text(std::string_view("t\0", 2))), "zero byte");
  expect_refused(row("a", kLink, number(9) + "short"), "cut off");
}

TEST(HostileManifest, SizesAreChecked) {
  expect_refused(row("a", kFile, number(1) + piece(0)), "without bytes");
  expect_refused(row("a", kFile, number(1) + number(1)), "without bytes");
  expect_refused(row("a", kFile, number(2) + number(3) + number(3)), "hole after a hole", 1, 2);
  expect_refused(row("a", kFile, number(1) + piece(kMostChunk + 1)), "too large");
  const auto most = number(kMostBytes << 1 | 1);
  expect_refused(row("a", kFile, number(2) + most + piece(1)), "larger than a file can be");
  expect_refused(row("a", kFile, number(1) + piece(5)), "more than the root says", 1, 4);
  expect_refused(row("a", kFile, number(1) + piece(5)), "less than the root says", 1, 6);
  expect_refused(empty_file("a"), "less than the root says", 2);
  expect_refused(empty_file("a") + empty_file("b"), "more than the root says");
}

TEST(HostileManifest, CountsBeyondTheBytesAreRefused) {
  expect_refused(row("a", kFile, number(std::uint64_t{1} << 60)), "more pieces than bytes");
  expect_refused(row("a", kFile, number(3) + piece(1)), "cut off");
  expect_refused(number(0) + number(~std::uint64_t{0}) + "a", "cut off");
  expect_refused(number(1) + text("a") + number(kFile) + number(0), "cut off");
  expect_refused(empty_file("a") + "\x80", "cut off");
  expect_refused("", "no entries", 0);
}

TEST(HostileManifest, EveryPathHasOneForm) {
  // "ab" after "aa" shares one byte; said to share none.
  expect_refused(empty_file("aa") + empty_file("ab"), "shares more", 2);
  expect_refused(std::string("\x80\x00", 2) + text("a") + number(kFile) + number(0), "cut off");
}

TEST(HostileManifest, ALeafHasAtMostItsEntries) {
  std::string rows = row("a", kFolder);
  for (std::size_t i = 0; i <= kLeafEntries; ++i) {
    const auto name = fmt::format("/{:05}", i);
    const auto last = i == 0 ? std::string() : fmt::format("/{:05}", i - 1);
    std::size_t shared = 0;
    while (shared < last.size() && last[shared] == name[shared]) ++shared;
    rows += number(1 + shared) + text(name.substr(shared)) + number(kFile) + number(0);
  }
  expect_refused(rows, "too many entries", kLeafEntries + 2);
}

TEST(HostileManifest, ALeafOfAnotherVersionSaysSo) {
  const auto leaf = "MUSLEAF2" + empty_file("a");
  const auto got = read(root_for(leaf, 1, 0), {leaf});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, Kind::usage);
  EXPECT_EQ(got.error().where, "leaf 0 of the snapshot");
}

TEST(HostileManifest, LeavesTheRootDoesNotNameAreRefused) {
  const auto written = write({file("a")}).value();
  EXPECT_FALSE(read(written.root, {written.leaves[0] + "x"}));
  EXPECT_FALSE(read(written.root, {written.leaves[0], written.leaves[0]}));
  EXPECT_FALSE(read(written.root, {}));
}

TEST(HostileManifest, RootsThatCannotBeAreRefused) {
  const std::string leaf = number(100) + std::string(32, 'h');
  const auto root = [](std::uint64_t entries, std::uint64_t bytes, const std::string& leaves) {
    return "MUSTREE1" + number(entries) + number(bytes) + leaves;
  };
  EXPECT_TRUE(decode_root(root(5, 9, number(1) + leaf)));
  const std::vector<std::string> wrong{
      "",
      "MUSTREE",
      "MUSTREE1",
      "PACKTREE" + number(0) + number(0) + number(0),
      root(5, 9, number(2) + leaf),
      root(5, 9, number(1) + leaf + "x"),
      root(5, 9, number(0)),
      root(0, 9, number(1) + leaf),
      root(4097, 9, number(1) + leaf),
      root(5, kMostBytes + 1, number(1) + leaf),
      root(5, 9, number(~std::uint64_t{0}) + leaf),
      root(5, 9, number(1) + number(0) + std::string(32, 'h')),
      root(5, 9, number(1) + number(Limits().leaf_bytes + 1) + std::string(32, 'h')),
      root(5, 9, number(1) + number(100) + std::string(31, 'h'))};
  for (const auto& bytes : wrong) {
    const auto got = decode_root(bytes);
    ASSERT_FALSE(got) << muster::to_hex(bytes);
    EXPECT_EQ(got.error().kind, Kind::corrupt);
  }
  EXPECT_EQ(decode_root("MUSTREE2").error().kind, Kind::usage);
}

/// The rules again, said in another way than the reader's.
bool keeps_rules(const std::vector<Entry>& entries) {
  std::set<std::string> folders;
  std::vector<std::string_view> last;
  for (const auto& entry : entries) {
    const auto names = split(entry.path, '/');
    for (const auto name : names)
      if (name.empty() || name == "." || name == ".." || name.size() > 255) return false;
    const auto slash = entry.path.rfind('/');
    if (slash != std::string::npos && !folders.contains(entry.path.substr(0, slash))) return false;
    if (names <= last || entry.mode > 0777) return false;
    if (entry.path.find('\0') != std::string::npos) return false;
    if ((entry.kind == EntryKind::link) == entry.target.empty()) return false;
    for (const auto& piece : entry.pieces)
      if (piece.size == 0) return false;
    if (entry.kind == EntryKind::folder) folders.insert(entry.path);
    last = names;
  }
  return true;
}

/// Flips one bit of the only leaf: its hash is another, and what is read all the same keeps the
/// rules and is no other form of anything.
bool is_harmless(const Written& written, std::size_t bit) {
  auto leaf = written.leaves.front();
  leaf[bit / 8] = static_cast<char>(leaf[bit / 8] ^ (1 << bit % 8));
  if (hash_of(leaf) == written.root.leaves[0].hash) return false;
  const auto got = read(written.root, {leaf});
  return !got || (keeps_rules(*got) && write(*got).value().leaves.front() == leaf);
}

TEST(HostileManifest, EveryBitFlippedIsRefusedOrStillKeepsTheRules) {
  const auto written =
      write({folder("a"), file("a/b", {chunk(9, 1), hole(70'000), chunk(5, 2)}), folder("a/c"),
             link("a/c/d", "../b"), file("a-b"), folder("b"), file("b/\xff\n", {hole(1)})})
          .value();
  for (std::size_t bit = 0; bit < written.leaves[0].size() * 8; ++bit)
    ASSERT_TRUE(is_harmless(written, bit)) << "bit " << bit;
}

RC_GTEST_PROP(HostileManifest, AnyBitFlippedIsRefusedOrStillKeepsTheRules, ()) {
  const auto entries = any_tree(40);
  RC_PRE(!entries.empty());
  const auto written = write(entries).value();
  const auto bits = written.leaves.front().size() * 8;
  for (int i = 0; i < 20; ++i)
    RC_ASSERT(is_harmless(written, *rc::gen::inRange<std::size_t>(0, bits)));
}

RC_GTEST_PROP(HostileManifest, ARootIsRefusedOrHasNoOtherForm, ()) {
  auto bytes = encode(write(any_tree(12)).value().root);
  const auto bit = *rc::gen::inRange<std::size_t>(0, bytes.size() * 8);
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
  if (const auto got = decode_root(bytes)) RC_ASSERT(encode(*got) == bytes);
}

}  // namespace
}  // namespace muster::tree
