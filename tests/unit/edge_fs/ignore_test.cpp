// Which ignore files count in a walk, and for what.
#include <gtest/gtest.h>

#include "unit/edge_fs/trees.hpp"

namespace muster::fs {
namespace {

using test::paths_of;
using test::Tree;
using Paths = std::vector<std::string>;

bool sees(const Tree& tree, const std::string& path) {
  const auto paths = paths_of(tree);
  return std::find(paths.begin(), paths.end(), path) != paths.end();
}

TEST(WalkIgnore, SomeNamesAreAlwaysLeftOut) {
  const Tree tree;
  for (const char* file : {".git/config", "a/.git/config", "b/.git", "a/__pycache__/x", "assets/x",
                           "a/assets/x", ".github/x"})
    tree.file(file);
  const Paths kept{".github", ".github/x", "a", "a/assets", "a/assets/x", "b"};
  EXPECT_EQ(paths_of(tree), kept);
  EXPECT_EQ(paths_of(tree, {.use_ignore_rules = false}), kept);
}

TEST(WalkIgnore, TheFileOfTheTopNamesTheFamilyForAllBelow) {
  const std::vector<std::string> names{".musterignore", ".amlignore", ".gitignore"};
  for (const auto& family : names) {
    const Tree tree;
    tree.file(family, "at-top\n");
    tree.file("at-top");
    for (const auto& name : names) {
      tree.file("sub/" + name, "by" + name + "\n");
      tree.file("sub/by" + name);
    }
    EXPECT_FALSE(sees(tree, "at-top")) << family;
    for (const auto& name : names)
      EXPECT_EQ(sees(tree, "sub/by" + name), name != family) << family << " " << name;
  }
}

TEST(WalkIgnore, OneFamilyHidesTheOthersAtTheTop) {
  const Tree tree;
  tree.file(".musterignore", "m\n");
  tree.file(".amlignore", "a\n");
  tree.file(".gitignore", "g\n");
  for (const char* file : {"m", "a", "g"}) tree.file(file);
  EXPECT_EQ(paths_of(tree), (Paths{".amlignore", ".gitignore", ".musterignore", "a", "g"}));
  std::filesystem::remove(tree.path(".musterignore"));
  EXPECT_EQ(paths_of(tree), (Paths{".amlignore", ".gitignore", "g", "m"}));
}

TEST(WalkIgnore, WithoutAFileAtTheTopItIsGits) {
  const Tree tree;
  tree.file("a/.gitignore", "x\n");
  tree.file("a/x");
  tree.file("a/.amlignore", "y\n");
  tree.file("a/y");
  EXPECT_FALSE(sees(tree, "a/x"));
  EXPECT_TRUE(sees(tree, "a/y"));
}

TEST(WalkIgnore, RulesCanBeSwitchedOff) {
  const Tree tree;
  tree.file(".gitignore", "*\n");
  tree.file("x");
  EXPECT_EQ(paths_of(tree, {.use_ignore_rules = false}), (Paths{".gitignore", "x"}));
  EXPECT_EQ(paths_of(tree), Paths{});
}

TEST(WalkIgnore, TheDeepestFileDecidesAndNothingComesBackFromAnIgnoredFolder) {
  const Tree tree;
  tree.file(".gitignore", "*.log\n/dead/\n");
  tree.file("a/.gitignore", "!keep.log\n");
  tree.file("a/keep.log");
  tree.file("a/b/keep.log");
  tree.file("a/other.log");
  tree.file("dead/.gitignore", "!x\n");
  tree.file("dead/x");
  EXPECT_EQ(paths_of(tree),
            (Paths{".gitignore", "a", "a/.gitignore", "a/b", "a/b/keep.log", "a/keep.log"}));
}

TEST(WalkIgnore, WhatIsIgnoredAtTheTopIsReported) {
  const Tree tree;
  tree.file(".gitignore", "/data/\n*.ckpt\n");
  for (const char* file : {"data/x", "m.ckpt", "a/n.ckpt", "assets/x", ".git/x", "src"})
    tree.file(file);
  const auto report = test::must(walk(tree.top(), {}, [](Seen&&) -> Result<> { return {}; }));
  EXPECT_EQ(report.ignored_at_top, (Paths{"data", "m.ckpt"}));
}

TEST(WalkIgnore, AnIgnoreFileThatIsALinkOrAFolderSaysNothing) {
  const Tree tree, other;
  other.file("rules", "x\n");
  tree.link(".gitignore", other.path("rules"));
  tree.folder(".musterignore");
  tree.file("x");
  tree.file("a/x");
  tree.file("a/.gitignore", "x\n");
  EXPECT_TRUE(sees(tree, "x"));
  EXPECT_FALSE(sees(tree, "a/x")) << "the family is still git's";
}

TEST(WalkIgnore, ALinkToAFolderIsNoFolder) {
  const Tree tree;
  tree.file(".gitignore", "out/\n");
  tree.folder("real");
  tree.link("out", "real");
  EXPECT_TRUE(sees(tree, "out"));
}

TEST(WalkIgnore, InfoExcludeCountsForGitsFamilyOnly) {
  const Tree tree;
  tree.file(".git/info/exclude", "x\n");
  tree.file("x");
  EXPECT_FALSE(sees(tree, "x"));
  tree.file("a/.gitignore", "!x\n");
  tree.file("a/x");
  EXPECT_TRUE(sees(tree, "a/x")) << "files in the tree come first";
  tree.file(".musterignore", "");
  EXPECT_TRUE(sees(tree, "x"));
}

TEST(WalkIgnore, InfoExcludeIsFoundFromAWorktreeAndASubmodule) {
  const Tree tree, repo;
  tree.file("x");
  repo.file("info/exclude", "x\n");
  tree.file(".git", "gitdir: " + repo.top() + "\n");
  EXPECT_FALSE(sees(tree, "x")) << "as in a submodule";
  repo.folder("worktrees/w");
  repo.file("worktrees/w/commondir", "../..\n");
  tree.file(".git", "gitdir: " + repo.path("worktrees/w") + "\n");
  EXPECT_FALSE(sees(tree, "x")) << "as in a worktree";
  tree.file(".git", "something else");
  EXPECT_TRUE(sees(tree, "x"));
}

}  // namespace
}  // namespace muster::fs
