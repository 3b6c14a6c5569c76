#include "core/tree/manifest.hpp"

#include <rapidcheck/gtest.h>

#include <algorithm>

#include "unit/core/tree/samples.hpp"

namespace muster::tree {
namespace {

/// A project of 20,000 files in 100 folders.
std::vector<Entry> project() {
  std::vector<Entry> entries;
  for (int f = 0; f < 100; ++f) {
    entries.push_back(folder(fmt::format("folder-{:03}", f)));
    for (int i = 0; i < 200; ++i)
      entries.push_back(file(fmt::format("folder-{:03}/file-{:03}.py", f, i),
                             {chunk(1000, static_cast<std::uint64_t>(f * 1000 + i))}));
  }
  return entries;
}

std::size_t fresh_leaves(const Written& before, const Written& after) {
  return static_cast<std::size_t>(
      std::count_if(after.leaves.begin(), after.leaves.end(), [&](const std::string& leaf) {
        return std::find(before.leaves.begin(), before.leaves.end(), leaf) == before.leaves.end();
      }));
}

RC_GTEST_PROP(Manifest, ATreeIsReadBackAsItWasWritten, ()) {
  const auto entries = any_tree(150);
  const auto written = write(entries).value();
  const auto root = decode_root(encode(written.root)).value();
  RC_ASSERT(root == written.root);
  RC_ASSERT(read(root, written.leaves).value() == entries);
  RC_ASSERT(root.entries == entries.size());
}

TEST(Manifest, AnEmptyTreeIsARootWithoutLeaves) {
  const auto written = write({}).value();
  EXPECT_TRUE(written.leaves.empty());
  EXPECT_EQ(decode_root(encode(written.root)).value(), Root());
  EXPECT_TRUE(read(written.root, {}).value().empty());
}

TEST(Manifest, ATreeOfAThousandFoldersInEachOtherIsReadBack) {
  std::vector<Entry> entries{folder("a")};
  while (entries.size() < Limits().depth) entries.push_back(folder(entries.back().path + "/a"));
  const auto written = write(entries).value();
  EXPECT_EQ(read(written.root, written.leaves).value(), entries);
  entries.push_back(folder(entries.back().path + "/a"));
  EXPECT_FALSE(write(entries));
}

TEST(Manifest, LeavesEndByContentAndAreNeitherTinyNorLarge) {
  const auto written = write(project()).value();
  EXPECT_GT(written.leaves.size(), 20U);
  EXPECT_LT(written.leaves.size(), 60U);
  LeafReader reader(written.root);
  for (std::size_t i = 0; i < written.leaves.size(); ++i) {
    const auto count = reader.read(written.leaves[i]).value().size();
    EXPECT_LE(count, kLeafEntries);
    const bool is_last = i + 1 == written.leaves.size();
    EXPECT_TRUE(is_last || count >= 64) << count;
  }
}

TEST(Manifest, EditingOneOfTwentyThousandEntriesChangesOneLeafAndTheRoot) {
  const auto entries = project();
  const auto before = write(entries).value();
  for (std::size_t at = 1; at < entries.size(); at += 1999) {
    auto edited = entries;
    edited[at].mode ^= 0100;
    if (edited[at].kind == EntryKind::file) edited[at].pieces[0].hash = hash_of("edited");
    const auto after = write(edited).value();
    ASSERT_EQ(after.leaves.size(), before.leaves.size());
    EXPECT_EQ(fresh_leaves(before, after), 1U) << edited[at].path;
    EXPECT_NE(encode(after.root), encode(before.root));
  }
}

TEST(Manifest, AddingOrRemovingAnEntryChangesAtMostTwoLeaves) {
  const auto entries = project();
  const auto before = write(entries).value();
  for (std::size_t at = 2; at < entries.size(); at += 1999) {
    if (entries[at].kind == EntryKind::folder) continue;
    auto less = entries;
    less.erase(less.begin() + static_cast<std::ptrdiff_t>(at));
    EXPECT_LE(fresh_leaves(before, write(less).value()), 2U);
    EXPECT_LE(fresh_leaves(write(less).value(), before), 2U);
  }
}

TEST(Manifest, ALeafEndsWhenItIsLarge) {
  std::vector<Entry> entries{folder("d")};
  std::vector<Piece> pieces;
  for (std::uint64_t i = 0; i < 40'000; ++i) pieces.push_back(chunk(kMostChunk, i));
  entries.push_back(file("d/large", pieces));
  entries.push_back(file("e"));
  const auto written = write(entries).value();
  ASSERT_EQ(written.leaves.size(), 2U);
  EXPECT_GT(written.leaves[0].size(), kLeafSize);
  EXPECT_EQ(read(written.root, written.leaves).value(), entries);
}

TEST(Manifest, AFileOfTooManyPiecesIsRefusedByName) {
  const std::vector<Piece> pieces(500'000, chunk(kMostChunk, 1));
  const auto refused = write({file("disk.img", pieces)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Kind::usage);
  EXPECT_EQ(refused.error().what, "disk.img is a file of too many pieces");
  EXPECT_FALSE(refused.error().fix.empty());
}

TEST(Manifest, TheWriterRefusesWhatCouldNotBeReadBack) {
  const Entry plain = file("a");
  std::vector<std::vector<Entry>> wrong{{file("")},
                                        {file("/a")},
                                        {file("a/")},
                                        {file("..")},
                                        {folder("a"), file("a/../b")},
                                        {file(std::string("a\0b", 3))},
                                        {file(std::string(256, 'a'))},
                                        {file("a/b")},
                                        {file("b"), file("a")},
                                        {plain, plain},
                                        {plain, file("a/b")},
                                        {link("l", "")},
                                        {link("l", std::string(4097, 't'))},
                                        {link("l", std::string("t\0", 2))},
                                        {file("a", {chunk(0, 1)})},
                                        {file("a", {hole(0)})},
                                        {file("a", {hole(1), hole(1)})},
                                        {file("a", {chunk(kMostChunk + 1, 1)})},
                                        {file("a", {hole(kMostBytes), chunk(1, 1)})},
                                        {file("a", {hole(kMostBytes)}), file("b", {hole(1)})}};
  wrong.push_back({plain});
  wrong.back()[0].mode = 04755;
  for (const auto& entries : wrong) {
    const auto refused = write(entries);
    ASSERT_FALSE(refused) << entries.back().path;
    EXPECT_EQ(refused.error().kind, Kind::usage);
  }
}

TEST(Manifest, AnErrorOfTheReceiverIsHandedOn) {
  LeafWriter writer([](const std::string&) { return Result<>(fail(Kind::exhausted, "full")); });
  ASSERT_TRUE(writer.add(file("a")));
  const auto finished = writer.finish();
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().kind, Kind::exhausted);
}

// An id names content: the same tree has the same id in ten years.
TEST(Manifest, IdsAreTheSameForEver) {
  const auto written =
      write({folder("src"), file("src/a.py", {chunk(10, 1), hole(65536), chunk(7, 2)}),
             link("src/b", "a.py"), file("\xff\n")})
          .value();
  EXPECT_EQ(to_hex(hash_of(encode(written.root))),
            "3eb19da0da75c590503e52bd268d973d13b7929dd01efce77fe1d454514e9feb");
  EXPECT_EQ(to_hex(hash_of(encode(write(project()).value().root))),
            "8cda319c722327789a2e6b9fc356f58e39ea61852486e840552f6cc427919c60");
}

}  // namespace
}  // namespace muster::tree
