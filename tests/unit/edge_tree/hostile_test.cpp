#include <sys/stat.h>

#include "core/tree/manifest.hpp"
#include "core/tree/pack.hpp"
#include "core/tree/wire.hpp"
#include "edge/tree/names.hpp"
#include "edge/tree/restore.hpp"
#include "unit/edge_tree/lab.hpp"

namespace muster::test {
namespace {

/// A leaf with these entries, whatever they are: every path is spelled out as no honest writer
/// would have to.
std::string leaf_of(const std::vector<tree::Entry>& entries) {
  std::string leaf = "MUSLEAF1";
  std::string last;
  for (const auto& entry : entries) {
    const auto shared = static_cast<std::size_t>(
        std::mismatch(last.begin(), last.end(), entry.path.begin(), entry.path.end()).first -
        last.begin());
    tree::put_varint(leaf, shared);
    tree::put_varint(leaf, entry.path.size() - shared);
    leaf.append(entry.path, shared);
    tree::put_varint(leaf, std::uint64_t{entry.mode} << 2 | static_cast<unsigned>(entry.kind));
    if (entry.kind == tree::EntryKind::file) {
      tree::put_varint(leaf, entry.pieces.size());
      for (const auto& piece : entry.pieces) {
        tree::put_varint(leaf, piece.size << 1 | (piece.is_hole ? 1 : 0));
        if (!piece.is_hole) tree::put_hash(leaf, piece.hash);
      }
    }
    if (entry.kind == tree::EntryKind::link) {
      tree::put_varint(leaf, entry.target.size());
      leaf += entry.target;
    }
    last = entry.path;
  }
  return leaf;
}

/// A store whose every hash is right: only what it says is evil.
tree::Hash store(Lab& lab, const std::vector<tree::Entry>& entries, std::string_view chunk) {
  const auto leaf = leaf_of(entries);
  tree::Root root{.entries = entries.size()};
  for (const auto& entry : entries) root.bytes += entry.size();
  root.leaves.push_back({.size = leaf.size(), .hash = tree::hash_of(leaf)});
  tree::PackWriter writer;
  writer.add(tree::hash_of(leaf), leaf);
  writer.add(tree::hash_of(chunk), chunk);
  const auto pack = writer.end();
  const auto bytes = encode(root);
  must(lab.blobs().put(snapshot::pack_name(pack.name), pack.bytes));
  must(lab.blobs().put(snapshot::tree_name(tree::hash_of(bytes)), bytes));
  return tree::hash_of(bytes);
}

class Hostile : public testing::Test {
 protected:
  tree::Entry file(const std::string& path) {
    return {.path = path, .pieces = {{.size = chunk_.size(), .hash = tree::hash_of(chunk_)}}};
  }
  static tree::Entry folder(const std::string& path) {
    return {.path = path, .kind = tree::EntryKind::folder, .mode = 0755};
  }
  static tree::Entry link(const std::string& path, const std::string& target) {
    return {.path = path, .kind = tree::EntryKind::link, .mode = 0777, .target = target};
  }

  /// Restores beside a folder of somebody else's, which stays as it is.
  Result<> attack(const std::vector<tree::Entry>& entries) {
    Lab lab;
    const auto id = store(lab, entries, chunk_);
    const auto outside = lab.room("outside");
    std::ofstream(outside + "/file") << "somebody's";
    const auto to = lab.room("outside/to");
    snapshot::Chunks chunks(lab.blobs());
    const auto done = snapshot::restore(chunks, id, to);
    inside_ = picture_of(to);
    auto around = picture_of(outside);
    std::erase_if(around, [](const auto& one) { return one.first.starts_with("to/"); });
    EXPECT_EQ(around.size(), 2U) << "something was written outside";
    EXPECT_NE(around["file"].find(" 10 "), std::string::npos) << "a file outside was changed";
    return done;
  }
  void expect_refused(const std::vector<tree::Entry>& entries) {
    const auto done = attack(entries);
    ASSERT_FALSE(done) << entries.back().path;
    EXPECT_EQ(done.error().kind, Kind::corrupt) << to_text(done.error());
  }

  std::string chunk_ = "evil bytes, more than ten";
  Picture inside_;
};

TEST_F(Hostile, AnHonestManifestOfTheseBytesIsRestored) {
  must(attack({folder("a"), file("a/b"), link("c", "a")}));
  EXPECT_EQ(inside_.size(), 3U);
}

TEST_F(Hostile, PathsThatLeaveAreRefused) {
  for (const char* path :
       {"../file", "..", ".", "", "/file", "a/../../file", "a//b", "a/", "./file"})
    expect_refused({file(path)});
  expect_refused({folder("a"), file("a/../../file")});
  expect_refused({folder(".."), file("../file")});
  expect_refused({file(std::string("a\0b", 3))});
}

TEST_F(Hostile, NothingIsWrittenThroughALink) {
  expect_refused({link("a", ".."), file("a/file")});
  expect_refused({link("a", "/tmp"), folder("a/b")});
  expect_refused({folder("a"), link("a", ".."), file("a/file")});
  expect_refused({link("a", "../file"), file("a")});
  expect_refused({file("a"), link("a", "../file")});
}

TEST_F(Hostile, FilesWithoutTheirFolderAreRefused) {
  expect_refused({file("a/b")});
  expect_refused({file("a"), file("a/b")});
  expect_refused({folder("b"), file("a")});
  expect_refused({file("a"), file("a")});
}

TEST_F(Hostile, SizesThatCannotBeAreRefused) {
  auto wrong = file("a");
  wrong.pieces[0].size = 5;
  expect_refused({wrong});
  wrong.pieces[0].size = 4 << 20;
  expect_refused({wrong});
  wrong.pieces = {{.is_hole = true, .size = UINT64_MAX >> 1}};
  wrong.pieces.push_back(wrong.pieces[0]);
  expect_refused({wrong});
}

TEST_F(Hostile, AHugeHoleTakesNoRoom) {
  Lab lab;
  const auto id =
      store(lab, {{.path = "hole", .pieces = {{.is_hole = true, .size = std::uint64_t{1} << 50}}}},
            chunk_);
  const auto to = lab.room("to");
  snapshot::Chunks chunks(lab.blobs());
  const auto done = snapshot::restore(chunks, id, to);
  struct stat info{};
  ASSERT_EQ(::stat((to + "/hole").c_str(), &info), 0);
  EXPECT_LT(info.st_blocks, 100);
  // Where a file system has no such files, it says so.
  EXPECT_TRUE(done || done.error().kind != Kind::internal);
}

TEST_F(Hostile, AChunkNobodyHasIsNamed) {
  auto missing = file("a");
  missing.pieces[0].hash = tree::hash_of("never stored");
  const auto done = attack({missing});
  ASSERT_FALSE(done);
  EXPECT_NE(to_text(done.error()).find(tree::to_hex(missing.pieces[0].hash)), std::string::npos);
}

TEST_F(Hostile, WhatIsThereAlreadyIsNotWrittenTo) {
  Lab lab;
  const auto id = store(lab, {file("a")}, chunk_);
  const auto to = lab.room("to");
  std::ofstream(lab.top() + "/victim") << "untouched";
  std::filesystem::create_symlink(lab.top() + "/victim", to + "/a");
  snapshot::Chunks chunks(lab.blobs());
  EXPECT_FALSE(snapshot::restore(chunks, id, to));
  EXPECT_EQ(std::filesystem::file_size(lab.top() + "/victim"), 9U);
}

}  // namespace
}  // namespace muster::test
