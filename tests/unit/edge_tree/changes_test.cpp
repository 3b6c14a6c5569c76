#include "edge/tree/changes.hpp"

#include <fcntl.h>
#include <rapidcheck/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "edge/fs/lock_file.hpp"
#include "edge/tree/copy.hpp"
#include "edge/tree/idle_trees.hpp"
#include "edge/tree/overlay.hpp"
#include "edge/tree/restore.hpp"
#include "unit/edge_tree/lab.hpp"

namespace muster::test {
namespace {

namespace stdfs = std::filesystem;
constexpr int kNotAllowed = 77;

/// Every path below the current folder, in an order that is the same wherever the tree is the same.
std::vector<stdfs::path> all_paths() {
  std::vector<stdfs::path> paths;
  std::error_code ignored;
  for (stdfs::recursive_directory_iterator at(".", ignored), end; !ignored && at != end;
       at.increment(ignored))
    paths.push_back(at->path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// What a job may do to its folder, in the current one; the same for the same seed. What is not
/// allowed is not done, and is not allowed anywhere.
void live_in_folder(std::uint64_t seed, int edits) {
  Rng rng(seed);
  for (int i = 0; i < edits; ++i) {
    const auto paths = all_paths();
    auto path = paths.empty() ? stdfs::path("./first") : paths[rng.below(paths.size())];
    const auto kind = rng.below(8);
    // A folder that is emptied by being made anew is the rarest thing otherwise.
    if (kind == 1 && path.has_parent_path() && path.parent_path() != ".") path = path.parent_path();
    const auto word = fmt::format("{}", rng.next());
    std::error_code no;
    const bool is_file = stdfs::is_regular_file(stdfs::symlink_status(path, no));
    if (kind <= 4 && kind != 2) stdfs::remove_all(path, no);
    switch (kind) {
      case 0: break;  // removed
      case 1: stdfs::create_directory(path, no); break;
      case 2:
        stdfs::permissions(path, stdfs::perms(0700), stdfs::perm_options::nofollow, no);
        break;
      case 3: std::ofstream(path) << word; break;
      case 4: stdfs::create_symlink(word, path, no); break;
      case 5:
        if (is_file) std::ofstream(path, std::ios::app) << word;
        break;
      case 6:
        if (is_file) std::ofstream(path, std::ios::app) << "";  // opened, and left as it was
        break;
      default:
        std::ofstream((stdfs::is_directory(stdfs::symlink_status(path, no)) ? path : ".") / word)
            << word;
    }
  }
}

std::vector<std::string> changes_of(Lab& lab, const tree::Hash& id, const snapshot::JobTree& job) {
  std::vector<std::string> lines;
  snapshot::Chunks chunks(lab.blobs());
  must(
      snapshot::job_changes(chunks, id, job, [&](const snapshot::FolderChange& change) -> Result<> {
        lines.push_back((!change.before ? "A " : !change.after ? "D " : "M ") + change.path());
        return {};
      }));
  return lines;
}

std::vector<std::string> changes_of(const Picture& before, const Picture& after) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& [path, what] : before)
    if (!after.contains(path))
      found.emplace_back(path, "D ");
    else if (after.at(path) != what)
      found.emplace_back(path, "M ");
  for (const auto& [path, what] : after)
    if (!before.contains(path)) found.emplace_back(path, "A ");
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return tree::before(a.first, b.first); });
  std::vector<std::string> lines;
  for (const auto& [path, letter] : found) lines.push_back(letter + path);
  return lines;
}

/// The same life twice: in a copy, and in an overlay if this machine lets us mount one.
struct TwoFolders {
  Lab lab;
  tree::Hash id;
  Picture before;
  std::string copy, up;
  bool has_overlay = false;

  void live(std::uint64_t seed, int edits) {
    id = lab.send().id;
    const auto tree = lab.room("tree");
    snapshot::Chunks chunks(lab.blobs());
    must(snapshot::restore(chunks, id, tree));
    before = picture_of(tree);
    copy = lab.room("copy");
    up = lab.room("up");
    must(snapshot::copy_tree(tree, copy));
    const snapshot::Overlay overlay{tree, up, lab.room("work"), lab.room("at")};
    const auto live_at = [&](const std::string& folder) {
      if (::chdir(folder.c_str()) != 0) return 1;
      live_in_folder(seed, edits);
      return 0;
    };
    EXPECT_EQ(in_child([&] { return live_at(copy); }), 0);
    const int status = in_child(
        [&] { return snapshot::mount_overlay(overlay) ? live_at(overlay.at) : kNotAllowed; });
    EXPECT_TRUE(status == 0 || status == kNotAllowed) << status;
    has_overlay = status == 0;
  }
};

RC_GTEST_PROP(JobChanges, AreWhatIsDifferentInACopyAndInAnOverlay, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  TwoFolders two;
  make_strange_tree(two.lab, seed, *rc::gen::inRange(0, 30));
  two.live(seed + 1, *rc::gen::inRange(0, 12));
  const auto expected = changes_of(two.before, picture_of(two.copy));
  const auto in_copy = changes_of(two.lab, two.id, {.folder = two.copy});
  RC_ASSERT(in_copy == expected);
  if (!two.has_overlay) return;
  const auto in_overlay = changes_of(two.lab, two.id, {.folder = two.up, .is_overlay = true});
  RC_ASSERT(in_overlay == expected);
}

TEST(JobChanges, ALinkOfOursIsNoneAndOneOfTheJobsIs) {
  Lab lab;
  lab.file("a");
  const auto id = lab.send().id;
  const auto copy = lab.room("copy");
  must(snapshot::copy_tree(lab.top(), copy));
  stdfs::create_symlink("/data", copy + "/data");
  stdfs::create_symlink("/other", copy + "/logs");
  EXPECT_EQ(changes_of(lab, id, {.folder = copy, .links = {{"data", "/data"}, {"logs", "/logs"}}}),
            std::vector<std::string>{"A logs"});
}

TEST(JobChanges, AFolderThatMayNotBeReadIsNamed) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  Lab lab;
  const auto id = lab.send().id;
  const auto copy = lab.room("copy");
  ASSERT_EQ(::mkdir((copy + "/closed").c_str(), 0), 0);
  snapshot::Chunks chunks(lab.blobs());
  const auto done = snapshot::job_changes(chunks, id, {.folder = copy},
                                          [](const auto&) -> Result<> { return {}; });
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().what.find("closed"), std::string::npos);
}

TEST(FindJobTree, WhatWasWrittenBeforeTheMountPoint) {
  Lab lab;
  const auto node = lab.room("n0");
  EXPECT_FALSE(snapshot::find_job_tree(node, "proj"));
  stdfs::create_directories(node + "/dir/proj");
  EXPECT_EQ(snapshot::find_job_tree(node, "proj")->folder, node + "/dir/proj");
  EXPECT_FALSE(snapshot::find_job_tree(node, "proj")->is_overlay);
  stdfs::create_directory(node + "/up");
  EXPECT_EQ(snapshot::find_job_tree(node, "proj")->folder, node + "/up");
  EXPECT_TRUE(snapshot::find_job_tree(node, "proj")->is_overlay);
}

/// Restored trees of a store with two snapshots.
struct IdleTrees : testing::Test {
  Lab lab;
  std::string trees = lab.room("trees");
  std::vector<std::string> ids;
  int asked = 0;

  IdleTrees() {
    for (const char* text : {"one", "two"}) {
      lab.file("a", text);
      const auto id = lab.send().id;
      must(snapshot::restore_once(lab.blobs(), id, trees));
      ids.push_back(tree::to_hex(id));
    }
  }
  std::string at(int i) const { return trees + "/" + ids[static_cast<std::size_t>(i)]; }
  std::uint64_t remove(Duration age, std::set<std::string> used) {
    return must(snapshot::remove_idle_trees(trees, age,
                                            [&]() -> Result<std::set<std::string>> {
                                              ++asked;
                                              return used;
                                            }))
        .folders;
  }
};

constexpr Duration kNoAge{-1'000'000};

TEST_F(IdleTrees, GoWhenNobodyUsesThemAndComeAgain) {
  EXPECT_EQ(remove(kNoAge, {ids[0]}), 1U);
  EXPECT_TRUE(stdfs::exists(at(0)));
  EXPECT_FALSE(stdfs::exists(at(1)));
  EXPECT_FALSE(stdfs::exists(at(1) + ".boot"));
  must(snapshot::restore_once(lab.blobs(), *tree::from_hex(ids[1]), trees));
  EXPECT_TRUE(stdfs::exists(at(1) + "/a"));
}

TEST_F(IdleTrees, WhatASetUpMadeOfThemGoesWithThem) {
  const std::string digits = ".0123456789abcdef";
  for (int i : {0, 1}) stdfs::create_directory(at(i) + digits);
  EXPECT_EQ(remove(kNoAge, {ids[0]}), 2U);
  EXPECT_TRUE(stdfs::exists(at(0) + digits));
  EXPECT_FALSE(stdfs::exists(at(1) + digits));
}

TEST_F(IdleTrees, WhatWasNotFinishedGoesWhenNobodyMakesIt) {
  const auto tree = at(1) + ".0123456789abcdef";
  stdfs::create_directory(tree + ".new");
  auto lock = must(fs::lock_file(tree + ".lock"));
  (void)remove(kNoAge, {ids[0], ids[1]});
  EXPECT_TRUE(stdfs::exists(tree + ".new")) << "somebody makes it just now";
  lock.reset();
  (void)remove(std::chrono::hours(1), {ids[0], ids[1]});
  EXPECT_TRUE(stdfs::exists(tree + ".new")) << "it is young";
  (void)remove(kNoAge, {ids[0], ids[1]});
  EXPECT_FALSE(stdfs::exists(tree + ".new"));
  EXPECT_FALSE(stdfs::exists(tree + ".lock"));
  EXPECT_TRUE(stdfs::exists(at(1) + "/a"));
}

TEST_F(IdleTrees, YoungOnesStayAndNobodyIsAsked) {
  EXPECT_EQ(remove(std::chrono::hours(1), {}), 0U);
  EXPECT_EQ(asked, 0);
  EXPECT_TRUE(stdfs::exists(at(0) + "/a"));
}

TEST_F(IdleTrees, OneThatIsBeingRestoredStays) {
  const UniqueFd held(::open((at(0) + ".lock").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(held.get(), LOCK_EX), 0);
  EXPECT_EQ(remove(kNoAge, {}), 1U);
  EXPECT_TRUE(stdfs::exists(at(0) + "/a"));
}

TEST_F(IdleTrees, TheirLocksAreHeldWhileJobsAreAskedFor) {
  must(snapshot::remove_idle_trees(trees, kNoAge, [&]() -> Result<std::set<std::string>> {
    const UniqueFd other(::open((at(0) + ".lock").c_str(), O_RDWR | O_CLOEXEC));
    EXPECT_NE(::flock(other.get(), LOCK_EX | LOCK_NB), 0);
    return std::set<std::string>();
  }));
}

TEST_F(IdleTrees, NothingGoesWhenJobsCannotBeAskedFor) {
  const auto done = snapshot::remove_idle_trees(
      trees, kNoAge,
      []() -> Result<std::set<std::string>> { return fail(Kind::unavailable, "no server"); });
  ASSERT_FALSE(done);
  EXPECT_TRUE(stdfs::exists(at(0) + "/a") && stdfs::exists(at(1) + "/a"));
}

}  // namespace
}  // namespace muster::test
