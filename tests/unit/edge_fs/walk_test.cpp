#include "edge/fs/walk.hpp"

#include <fcntl.h>
#include <rapidcheck/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "unit/edge_fs/trees.hpp"

namespace muster::fs {
namespace {

using test::paths_of;
using test::Tree;
using tree::EntryKind;
using Paths = std::vector<std::string>;

Result<> take(Seen&&) { return {}; }

TEST(Walk, GoesIntoAFolderBeforeItsNeighbours) {
  const Tree tree;
  for (const char* file : {"a/b", "a/c/d", "a-b", "a.b", "A", "a0/x", "\xff", "z"}) tree.file(file);
  tree.folder("empty");
  EXPECT_EQ(paths_of(tree), (Paths{"A", "a", "a/b", "a/c", "a/c/d", "a-b", "a.b", "a0", "a0/x",
                                   "empty", "z", "\xff"}));
}

TEST(Walk, SaysWhatAnEntryIs) {
  const Tree tree;
  tree.file("f", "12345");
  tree.folder("d");
  tree.link("l", "nowhere");
  ::chmod(tree.path("f").c_str(), 04751);
  ::chmod(tree.path("d").c_str(), 01700);
  std::vector<Seen> seen;
  test::must(walk(tree.top(), {}, [&](Seen&& one) -> Result<> {
    seen.push_back(std::move(one));
    return {};
  }));
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0].kind, EntryKind::folder);
  EXPECT_EQ(seen[0].mode, 0700);
  EXPECT_EQ(seen[0].size, 0U);
  EXPECT_EQ(seen[1].kind, EntryKind::file);
  EXPECT_EQ(seen[1].mode, 0751);
  EXPECT_EQ(seen[1].size, 5U);
  EXPECT_EQ(seen[2].kind, EntryKind::link);
  EXPECT_EQ(seen[2].mode, 0777);
  struct stat about{};
  ASSERT_EQ(::lstat(tree.path("f").c_str(), &about), 0);
  EXPECT_EQ(seen[1].inode, about.st_ino);
  EXPECT_EQ(seen[1].device, about.st_dev);
  EXPECT_EQ(seen[1].mtime_ns, about.st_mtim.tv_sec * 1'000'000'000 + about.st_mtim.tv_nsec);
  EXPECT_EQ(seen[1].ctime_ns, about.st_ctim.tv_sec * 1'000'000'000 + about.st_ctim.tv_nsec);
}

RC_GTEST_PROP(Walk, IsTheSameHoweverManyReadersAndHoweverSmallTheWindow, ()) {
  const Tree tree;
  const int count = *rc::gen::inRange(0, 150);
  for (int i = 0; i < count; ++i) {
    std::string path = *rc::gen::element<std::string>("a", "b", "a-", "c.d", "e");
    for (int depth = *rc::gen::inRange(0, 5); depth > 0; --depth)
      path += "/" + *rc::gen::element<std::string>("a", "b", "a-", "c.d", "e");
    tree.folder(path);
    tree.file(path + "/f");
  }
  const auto alone = paths_of(tree, {.readers = 0});
  RC_ASSERT(std::is_sorted(alone.begin(), alone.end(), tree::before));
  RC_ASSERT(alone.size() == tree.count());
  for (const int readers : {1, 2, 4})
    for (const std::size_t window : {0, 1, 7, 10'000})
      RC_ASSERT(paths_of(tree, {.readers = readers, .window = window}) == alone);
}

TEST(Walk, TakesAFolderThatFillsManyBuffers) {
  const Tree tree;
  constexpr int kFiles = 12'000;
  for (int i = 0; i < kFiles; ++i) tree.file(fmt::format("d/{:05}-{}", i, std::string(40, 'x')));
  const auto paths = paths_of(tree);
  EXPECT_EQ(paths.size(), kFiles + 1U);
  EXPECT_TRUE(std::is_sorted(paths.begin(), paths.end(), tree::before));
}

/// Few descriptors may be open, as on a machine that allows little.
class FewDescriptors {
 public:
  FewDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{32, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(Walk, GoesDeeperThanPathsMayBeLong) {
  const Tree tree;
  constexpr int kDepth = 1100;
  tree.chain(kDepth, std::string(255, 'n'));
  const FewDescriptors few;
  const auto paths = paths_of(tree);
  ASSERT_EQ(paths.size(), kDepth);
  EXPECT_EQ(paths.back().size(), kDepth * 256U - 1);
}

TEST(Walk, FollowsNoLinkButTheTop) {
  const Tree tree, other;
  other.file("secret");
  tree.link("l", other.top());
  EXPECT_EQ(paths_of(tree), Paths{"l"});
  tree.link("top", ".");
  Paths paths;
  test::must(walk(tree.path("top"), {}, [&](Seen&& one) -> Result<> {
    paths.push_back(one.path);
    return {};
  }));
  EXPECT_EQ(paths, (Paths{"l", "top"}));
}

TEST(Walk, LeavesOutAndListsWhatIsNoFile) {
  const Tree tree;
  tree.file("a/f");
  ASSERT_EQ(::mkfifo(tree.path("a/pipe").c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo(tree.path("ignored").c_str(), 0600), 0);
  tree.file(".gitignore", "/ignored\n");
  const auto report = test::must(walk(tree.top(), {}, take));
  EXPECT_EQ(report.specials, Paths{"a/pipe"});
  EXPECT_EQ(paths_of(tree), (Paths{".gitignore", "a", "a/f"}));
}

TEST(Walk, AnErrorOfTheCallerEndsIt) {
  const Tree tree;
  for (const char* file : {"a", "b", "c/d"}) tree.file(file);
  int calls = 0;
  const auto ended = walk(tree.top(), {}, [&](Seen&& one) -> Result<> {
    ++calls;
    if (one.path == "b") return fail(Kind::cancelled, "enough");
    return {};
  });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().kind, Kind::cancelled);
  EXPECT_EQ(calls, 2);
}

TEST(Walk, WithoutATopThereIsNothingToWalk) {
  const Tree tree;
  tree.file("f");
  EXPECT_EQ(walk(tree.path("nowhere"), {}, take).error().kind, Kind::not_found);
  EXPECT_EQ(walk(tree.path("f"), {}, take).error().kind, Kind::not_found);
}

TEST(Walk, AFolderThatCannotBeReadIsNamed) {
  const Tree tree;
  tree.file("a/locked/f");
  ::chmod(tree.top().c_str(), 0755);
  ::chmod(tree.path("a/locked").c_str(), 0);
  const auto user = ::geteuid();
  constexpr uid_t kNobody = 65534;  // root may read everything
  ASSERT_EQ(::seteuid(user == 0 ? kNobody : user), 0);
  const auto walked = walk(tree.top(), {}, take);
  ASSERT_EQ(::seteuid(user), 0);
  ::chmod(tree.path("a/locked").c_str(), 0700);
  ASSERT_FALSE(walked);
  EXPECT_EQ(walked.error().kind, Kind::denied);
  EXPECT_NE(walked.error().what.find("a/locked"), std::string::npos);
  ASSERT_EQ(walked.error().fix.size(), 1U);
  EXPECT_NE(walked.error().fix[0].find("/a/locked to the .gitignore"), std::string::npos);
}

/// What is seen when `change` happens just after the first entry, before anything else is read.
Paths paths_with(const Tree& tree, const std::function<void()>& change) {
  Paths paths;
  test::must(walk(tree.top(), {.readers = 0}, [&](Seen&& one) -> Result<> {
    if (paths.empty()) change();
    paths.push_back(one.path);
    return {};
  }));
  return paths;
}

TEST(Walk, WhatVanishesMeanwhileIsLeftOut) {
  const Tree tree;
  for (const char* file : {"a", "gone/f", "stays/f"}) tree.file(file);
  EXPECT_EQ(paths_with(tree, [&] { std::filesystem::remove_all(tree.path("gone")); }),
            (Paths{"a", "stays", "stays/f"}));
}

TEST(Walk, AFolderExchangedForALinkLeadsNowhere) {
  const Tree tree, other;
  other.file("inner/secret");
  for (const char* file : {"a", "x/inner/f", "z"}) tree.file(file);
  const auto paths = paths_with(tree, [&] {
    std::filesystem::remove_all(tree.path("x"));
    tree.link("x", other.top());
  });
  EXPECT_EQ(paths, (Paths{"a", "z"}));
}

}  // namespace
}  // namespace muster::fs
