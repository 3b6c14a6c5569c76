// git's index as bytes: what it tracks is found, what is no index is an error, never anything else.
#include "core/tree/git_index.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace muster {
namespace {

using Holds = tree::GitIndex::Holds;

void put(std::string& out, std::uint32_t number, int size = 4) {
  for (int shift = (size - 1) * 8; shift >= 0; shift -= 8)
    out += static_cast<char>(number >> shift & 255U);
}

struct Shape {
  int version = 2;
  std::size_t hash = 20;
  bool is_extended = false;
};

/// Names in order, as git would write them.
std::string index_of(const std::vector<std::string>& names, const Shape& shape,
                     const std::string& extensions = "") {
  std::string out = "DIRC";
  put(out, static_cast<std::uint32_t>(shape.version));
  put(out, static_cast<std::uint32_t>(names.size()));
  std::string last;
  for (const auto& name : names) {
    const auto begin = out.size();
    out += std::string(24, '\1');
    put(out, 0100644);
    out += std::string(12 + shape.hash, '\2');
    const auto length = static_cast<std::uint32_t>(std::min<std::size_t>(name.size(), 0xFFF));
    put(out, length | (shape.is_extended ? 0x4000U : 0U), 2);
    if (shape.is_extended) put(out, 0, 2);
    if (shape.version == 4) {
      const auto same = static_cast<std::size_t>(
          std::mismatch(name.begin(), name.end(), last.begin(), last.end()).first - name.begin());
      const auto drop = last.size() - same;
      // One byte up to 127; two from there on, of which the first counts one more.
      if (drop < 128)
        out += static_cast<char>(drop);
      else
        (out += static_cast<char>(((drop >> 7) - 1) | 128U)) += static_cast<char>(drop & 127U);
      out += name.substr(same) + '\0';
    } else {
      out += name + '\0';
      while ((out.size() - begin) % 8 != 0) out += '\0';
    }
    last = name;
  }
  return out + extensions + std::string(shape.hash, '\3');
}

tree::GitIndex parsed(const std::string& bytes) {
  auto index = tree::GitIndex::parse(bytes);
  EXPECT_TRUE(index.has_value()) << index.error().what;
  return index ? std::move(*index) : tree::GitIndex();
}

RC_GTEST_PROP(GitIndex, EveryVersionGivesItsNamesBack, ()) {
  const auto word = rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab/.\xff")));
  auto given = *rc::gen::container<std::set<std::string>>(word);
  given.erase("");
  if (*rc::gen::arbitrary<bool>()) given.insert(std::string(300, 'x') + "y");
  const std::vector<std::string> names(given.begin(), given.end());
  Shape shape{.version = *rc::gen::inRange(2, 5), .hash = *rc::gen::element<std::size_t>(20, 32)};
  shape.is_extended = shape.version > 2 && *rc::gen::arbitrary<bool>();
  const auto index = parsed(index_of(names, shape));
  RC_ASSERT(index.size() == names.size());
  for (std::size_t i = 0; i < names.size(); ++i) RC_ASSERT(index.name(i) == names[i]);
}

TEST(GitIndex, ATrackedPathAndAFolderThatHoldsOneAreTold) {
  const auto index = parsed(index_of({"a-b", "a.c", "a/b/c", "a/d", "ab", "z"}, {}));
  for (const char* path : {"a-b", "a.c", "a/b/c", "a/d", "ab", "z"})
    EXPECT_EQ(index.holds(path), Holds::itself) << path;
  for (const char* path : {"a", "a/b"}) EXPECT_EQ(index.holds(path), Holds::below) << path;
  for (const char* path : {"", "b", "a/b/c/d", "a/", "abc", "a/b/", "zz", "A"})
    EXPECT_NE(index.holds(path), Holds::itself) << path;
  for (const char* path : {"b", "a/b/c/d", "abc", "zz", "A", "a/bb"})
    EXPECT_EQ(index.holds(path), Holds::nothing) << path;
}

TEST(GitIndex, APathThatIsBeingMergedStandsOnce) {
  EXPECT_EQ(parsed(index_of({"a", "a", "a", "b"}, {})).size(), 2U);
}

TEST(GitIndex, PartsThatMayBeSkippedAreAndOthersAreAnError) {
  const auto part = [](const std::string& name, const std::string& bytes) {
    std::string out = name;
    put(out, static_cast<std::uint32_t>(bytes.size()));
    return out + bytes;
  };
  EXPECT_EQ(parsed(index_of({"a"}, {}, part("TREE", "xyz") + part("sdir", ""))).size(), 1U);
  const auto split = tree::GitIndex::parse(index_of({"a"}, {}, part("link", "x")));
  ASSERT_FALSE(split);
  EXPECT_EQ(split.error().kind, Kind::usage);
  EXPECT_FALSE(split.error().fix.empty());
  EXPECT_FALSE(tree::GitIndex::parse(index_of({"a"}, {}, part("what", "x"))));
}

TEST(GitIndex, WhatIsCutOffOrOutOfOrderIsAnError) {
  for (const int version : {2, 3, 4}) {
    const auto whole = index_of({"a/one", "a/two", "b"}, {.version = version});
    for (std::size_t size = 0; size < whole.size(); ++size)
      EXPECT_FALSE(tree::GitIndex::parse(whole.substr(0, size))) << version << " " << size;
    EXPECT_FALSE(tree::GitIndex::parse(index_of({"b", "a"}, {.version = version})));
  }
  EXPECT_FALSE(tree::GitIndex::parse(index_of({"a"}, {.version = 5})));
  EXPECT_FALSE(tree::GitIndex::parse(index_of({""}, {})));
}

TEST(GitIndex, NamesThatUnfoldWithoutEndAreRefused) {
  // Each of them repeats what stands before it, in a few bytes.
  std::vector<std::string> names;
  for (int i = 0; i < 20'000; ++i)
    names.push_back(std::string(4000, 'a') + fmt::format("{:05}", i));
  const auto index = tree::GitIndex::parse(index_of(names, {.version = 4}));
  ASSERT_FALSE(index);
  EXPECT_EQ(index.error().kind, Kind::exhausted);
}

}  // namespace
}  // namespace muster
