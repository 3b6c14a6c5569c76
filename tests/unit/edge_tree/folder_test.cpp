#include <rapidcheck/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <set>

#include "edge/tree/copy.hpp"
#include "edge/tree/hash_set.hpp"
#include "edge/tree/overlay.hpp"
#include "edge/tree/survey.hpp"
#include "unit/edge_tree/lab.hpp"

namespace muster::test {
namespace {

RC_GTEST_PROP(CopyTree, IsBitByBitTheSame, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto size = *rc::gen::inRange(0, 40);
  Lab lab;
  make_strange_tree(lab, seed, size);
  const auto to = lab.room("to");
  RC_ASSERT(snapshot::copy_tree(lab.top(), to).has_value());
  RC_ASSERT(difference(picture_of(lab.top()), picture_of(to)) == "");
}

TEST(CopyTree, TheCopyIsNobodyElses) {
  Lab lab;
  lab.file("a", "mine");
  const auto to = lab.room("to");
  must(snapshot::copy_tree(lab.top(), to));
  std::ofstream(to + "/a") << "changed";
  EXPECT_EQ(std::filesystem::file_size(lab.path("a")), 4U);
}

TEST(CopyTree, NeedsFewDescriptorsHoweverDeepTheTreeIs) {
  Lab lab;
  std::string deep = "d";
  for (int i = 0; i < 150; ++i) deep += "/d";
  lab.file(deep + "/last", "found");
  lab.file("d/d/beside", "too");
  ASSERT_EQ(::chmod(lab.path("d/d/d").c_str(), 0500), 0);
  const auto to = lab.room("to");
  EXPECT_EQ(in_child([&] {
              const rlimit few{64, 64};
              if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return 2;
              return snapshot::copy_tree(lab.top(), to).has_value() ? 0 : 1;
            }),
            0);
  EXPECT_EQ(difference(picture_of(lab.top()), picture_of(to)), "");
  ::chmod(lab.path("d/d/d").c_str(), 0700);
  ::chmod((to + "/d/d/d").c_str(), 0700);
}

TEST(CopyTree, DoesNotWaitAtAPipe) {
  Lab lab;
  lab.file("a");
  ASSERT_EQ(::mkfifo(lab.path("pipe").c_str(), 0600), 0);
  const auto to = lab.room("to");
  must(snapshot::copy_tree(lab.top(), to));
  EXPECT_TRUE(std::filesystem::exists(to + "/a"));
  EXPECT_FALSE(std::filesystem::exists(to + "/pipe"));
}

TEST(CopyTree, SaysWhatItCannotDo) {
  Lab lab;
  lab.file("a");
  const auto to = lab.room("to");
  std::ofstream(to + "/a") << "in the way";
  const auto done = snapshot::copy_tree(lab.top(), to);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, Kind::conflict);
}

constexpr int kNotAllowed = 77;

/// Mounts, writes and looks, in a child that may be somebody else. Gives 0 when all was well.
int try_overlay(const Lab& lab, const snapshot::Overlay& overlay, uid_t user) {
  return in_child([&] {
    if (user != 0 && (::setresgid(user, user, user) != 0 || ::setresuid(user, user, user) != 0))
      return kNotAllowed;
    // The files of /proc/self are root's after a change of user, unless one says so.
    if (user != 0) ::prctl(PR_SET_DUMPABLE, 1);
    const auto mounted = snapshot::mount_overlay(overlay);
    if (!mounted) {
      ::fprintf(stderr, "%s\n", to_text(mounted.error()).c_str());
      return kNotAllowed;
    }
    if (difference(picture_of(lab.top()), picture_of(overlay.at)) != "") return 1;
    std::ofstream(overlay.at + "/folder/file") << "written over";
    std::ofstream(overlay.at + "/new") << "new";
    if (::unlink((overlay.at + "/gone").c_str()) != 0) return 2;
    const auto now = picture_of(overlay.at);
    if (!now.contains("new") || now.contains("gone")) return 3;
    return std::filesystem::file_size(overlay.at + "/folder/file") == 12 ? 0 : 4;
  });
}

void check_overlay(uid_t user) {
  Lab lab;
  // The base folder of a test is its owner's alone.
  std::filesystem::permissions(std::filesystem::path(lab.top()).parent_path(),
                               std::filesystem::perms{0755});
  lab.file("folder/file", "as it was");
  lab.file("gone", "still below");
  lab.link("link", "folder");
  for (const char* name : {"", "folder", "folder/file", "gone"})
    ASSERT_EQ(::lchown(lab.path(name).c_str(), user, user), 0);
  // What means something to overlayfs, in a path.
  const snapshot::Overlay overlay{.lower = lab.top(),
                                  .upper = lab.room("up,lowerdir=x:y"),
                                  .work = lab.room("work"),
                                  .at = lab.room("at")};
  for (const auto* path : {&overlay.upper, &overlay.work, &overlay.at})
    ASSERT_EQ(::chown(path->c_str(), user, user), 0);
  const auto before = picture_of(lab.top());
  const int status = try_overlay(lab, overlay, user);
  if (status == kNotAllowed) GTEST_SKIP() << "this machine does not let user " << user << " mount";
  EXPECT_EQ(status, 0);
  EXPECT_EQ(difference(before, picture_of(lab.top())), "");
  EXPECT_TRUE(picture_of(overlay.at).empty()) << "the mount is seen outside";
  EXPECT_TRUE(picture_of(overlay.upper).contains("new"));
}

TEST(MountOverlay, AsRootTheTreeBelowStaysAsItIs) {
  if (::geteuid() != 0) GTEST_SKIP() << "not root";
  check_overlay(0);
}

TEST(MountOverlay, AsAnyoneInAUserNamespace) {
  check_overlay(::geteuid() == 0 ? 65534 : ::geteuid());
}

TEST(MountOverlay, SaysWhatIsNotThere) {
  const int status = in_child([] {
    const auto mounted = snapshot::mount_overlay({"/no/a", "/no/b", "/no/c", "/no/d"});
    return mounted ? 1 : 0;
  });
  EXPECT_EQ(status, 0);
}

TEST(SurveyTree, CountsAndNamesTheLargest) {
  Lab lab;
  for (int i = 0; i < 7; ++i) lab.file(fmt::format("d{}/f", i), std::string(1000 * (i + 1), 'x'));
  lab.file("d0/more", std::string(9000, 'x'));
  lab.file("top", std::string(6500, 'x'));
  lab.file("ignored/huge", std::string(1'000'000, 'x'));
  lab.file(".musterignore", "ignored\n");
  const auto survey = must(snapshot::survey_tree(lab.top()));
  EXPECT_EQ(survey.files, 10U);
  EXPECT_EQ(survey.bytes, 28'000U + 9000 + 6500 + 8);
  using Row = std::pair<std::string, std::uint64_t>;
  const std::vector<Row> expected{
      {"d0/", 10'000}, {"d6/", 7000}, {"top", 6500}, {"d5/", 6000}, {"d4/", 5000}};
  EXPECT_EQ(survey.largest, expected);
}

RC_GTEST_PROP(HashSet, IsASet, ()) {
  Rng rng(*rc::gen::arbitrary<std::uint64_t>());
  const auto count = *rc::gen::inRange(0, 5000);
  snapshot::HashSet set;
  std::set<tree::Hash> model;
  for (int i = 0; i < count; ++i) {
    const auto hash = tree::hash_of(fmt::format("{}", rng.below(3000)));
    RC_ASSERT(set.has(hash) == model.contains(hash));
    RC_ASSERT(set.insert(hash) == model.insert(hash).second);
    RC_ASSERT(set.has(hash));
  }
}

TEST(HashSet, HoldsTheHashOfZerosToo) {
  snapshot::HashSet set;
  EXPECT_FALSE(set.has({}));
  EXPECT_TRUE(set.insert({}));
  EXPECT_FALSE(set.insert({}));
  EXPECT_TRUE(set.has({}));
}

}  // namespace
}  // namespace muster::test
