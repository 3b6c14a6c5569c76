// The rules one by one. That they are git's is shown by tests/prop/ignore_git.cpp.
#include "core/tree/ignore.hpp"

#include <rapidcheck/gtest.h>

namespace muster::tree {
namespace {

using namespace std::string_literals;

bool is_ignored(std::string_view rules, std::string_view path, bool is_folder = false) {
  return IgnoreList::parse(rules).verdict(path, is_folder).value_or(false);
}
bool matches(std::string_view glob, std::string_view path) { return Glob(glob).matches(path); }

TEST(Ignore, EmptyLinesAndCommentsSayNothing) {
  EXPECT_TRUE(IgnoreList::parse("").is_empty());
  EXPECT_TRUE(IgnoreList::parse("\n\r\n# a\n   \n!\n/\n!/\n").is_empty());
  EXPECT_TRUE(is_ignored("\\#a", "#a"));
  EXPECT_TRUE(is_ignored("\\!a", "!a"));
}

TEST(Ignore, TheLastPatternThatMatchesDecides) {
  const auto list = IgnoreList::parse("*.log\n!keep.log\nkeep.log\n!keep.log\n");
  EXPECT_EQ(list.verdict("a.log", false), true);
  EXPECT_EQ(list.verdict("keep.log", false), false);
  EXPECT_EQ(list.verdict("a.txt", false), std::nullopt);
}

TEST(Ignore, APatternWithoutASlashMeansTheName) {
  EXPECT_TRUE(is_ignored("b", "a/b"));
  EXPECT_TRUE(is_ignored("*.o", "a/b/c.o"));
  EXPECT_FALSE(is_ignored("/b", "a/b"));
  EXPECT_TRUE(is_ignored("/b", "b"));
  EXPECT_FALSE(is_ignored("b/c", "a/b/c"));
  EXPECT_TRUE(is_ignored("b/c", "b/c"));
}

TEST(Ignore, ASlashAtTheEndMeansFoldersOnly) {
  EXPECT_FALSE(is_ignored("b/", "a/b"));
  EXPECT_TRUE(is_ignored("b/", "a/b", true));
  EXPECT_FALSE(is_ignored("b//", "b", true));
}

TEST(Ignore, SpacesAndLineEndsGoUnlessEscaped) {
  EXPECT_TRUE(is_ignored("a  \n", "a"));
  EXPECT_TRUE(is_ignored("a\\  \n", "a "));
  EXPECT_TRUE(is_ignored("a\r\n", "a"));
  EXPECT_TRUE(is_ignored("a\r", "a"));
  EXPECT_TRUE(is_ignored("a\t\n", "a\t"));
  EXPECT_TRUE(is_ignored("\xEF\xBB\xBF"s + "a\n", "a"));
  EXPECT_TRUE(is_ignored("a\0b\n"s, "a"));
}

TEST(Ignore, TwoStarsCrossSlashesAndOneDoesNot) {
  EXPECT_TRUE(matches("**/b", "b"));
  EXPECT_TRUE(matches("**/b", "a/c/b"));
  EXPECT_TRUE(matches("a/**/b", "a/b"));
  EXPECT_TRUE(matches("a/**/b", "a/x/y/b"));
  EXPECT_TRUE(matches("a/**", "a/x/y"));
  EXPECT_FALSE(matches("a/**", "a"));
  EXPECT_FALSE(matches("a/*", "a/x/y"));
  EXPECT_FALSE(matches("a?b", "a/b"));
  EXPECT_TRUE(matches("**/x/**/y", "x/x/q/x/y"));
  EXPECT_FALSE(matches("x?**/y", "xx/a/y"));
  EXPECT_TRUE(matches("x**/y", "xx/a/y")) << "behind a plain beginning git takes it for a start";
}

TEST(Ignore, Brackets) {
  EXPECT_TRUE(matches("[a-c]", "b"));
  EXPECT_TRUE(matches("[]a]", "]"));
  EXPECT_TRUE(matches("[!a]", "b"));
  EXPECT_FALSE(matches("[^a]", "a"));
  EXPECT_TRUE(matches("[a-]", "-"));
  EXPECT_TRUE(matches("[\\]]", "]"));
  EXPECT_TRUE(matches("[[:digit:]x]", "7"));
  EXPECT_FALSE(matches("a[!b]c", "a/c"));
}

TEST(Ignore, ABrokenPatternMatchesNothing) {
  for (const char* glob : {"[", "[a", "[!", "[]", "a\\", "[[:nix:]]", "[a-", "*["})
    for (const char* name : {"[", "a", "[a", "]", "[]", "a\\", "x"})
      EXPECT_FALSE(matches(glob, name)) << glob << " " << name;
}

TEST(Ignore, ManyStarsDoNotTakeForEver) {
  std::string stars, deep;
  for (int i = 0; i < 200; ++i) stars += "a*", deep += "**/a*/";
  EXPECT_FALSE(matches(stars + "b", std::string(4000, 'a')));
  std::string path;
  for (int i = 0; i < 1000; ++i) path += "aa/";
  EXPECT_FALSE(matches(deep + "b", path + "a"));
  EXPECT_TRUE(matches(deep + "b", path + "b"));
}

RC_GTEST_PROP(Ignore, WhatIsEscapedIsTakenAsItIs, (const std::vector<unsigned char>& bytes)) {
  std::string name = "x", glob = "x";
  for (const auto byte : bytes) {
    if (byte == 0 || byte == '/') continue;
    name += static_cast<char>(byte);
    glob += {'\\', static_cast<char>(byte)};
  }
  RC_ASSERT(matches(glob, name));
  RC_ASSERT(!matches(glob, name + "x"));
}

}  // namespace
}  // namespace muster::tree
