#include "edge/pods/code.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "edge/blob/file_store.hpp"
#include "edge/tree/names.hpp"
#include "unit/edge_tree/lab.hpp"

namespace muster::pods {
namespace {

using render::CodeFrom;
using std::chrono::seconds;
using std::chrono::steady_clock;
using test::must;

/// A home whose store has one snapshot.
struct Home {
  explicit Home(std::size_t size) {
    Rng rng(1);
    lab.file("code", test::noise(rng, size));
    auto options = lab.options();
    folder = lab.room("home");
    FileStore blobs(folder + "/chunks");
    options.store = "file://" + folder + "/chunks";
    options.cache_file.clear();
    id = must(snapshot::send_tree(blobs, options)).id;
  }
  Code prepare(const std::string& served_at = {}) {
    return must(prepare_code({.snapshot = tree::to_hex(id)}, settings, {folder, served_at}));
  }
  test::Lab lab;
  std::string folder;
  tree::Hash id;
  PodSettings settings;
};

TEST(CodeWays, SmallCodeRidesInASecretAndLargeCodeIsSent) {
  Home small(1000), large(2U << 20);
  const auto code = small.prepare();
  EXPECT_EQ(code.from, CodeFrom::secret);
  EXPECT_GT(code.bytes.size(), 1000U);
  EXPECT_EQ(large.prepare().from, CodeFrom::stream);
}

TEST(CodeWays, AClaimTakesWhatIsTooLargeForASecret) {
  Home small(1000), large(2U << 20);
  small.settings.store = large.settings.store = CodeStore{.claim = "team", .folder = {}};
  EXPECT_EQ(small.prepare().from, CodeFrom::secret);
  EXPECT_EQ(large.prepare().from, CodeFrom::claim);
}

TEST(CodeWays, AServerThatPodsReachComesBeforeTheSecret) {
  Home home(1000);
  EXPECT_EQ(home.prepare("10.0.0.1:7800").from, CodeFrom::server);
}

TEST(CodeWays, AStoreComesFirstAndHasItAll) {
  Home home(1000);
  const auto volume = home.lab.room("volume");
  home.settings.store = CodeStore{.claim = "team", .folder = volume};
  EXPECT_EQ(home.prepare("10.0.0.1:7800").from, CodeFrom::store);
  FileStore there(volume);
  EXPECT_TRUE(there.look(snapshot::tree_name(home.id)));
}

TEST(CodeWays, AFolderThatIsNotThereIsToldAndNotMade) {
  Home home(1000);
  const auto nowhere = home.lab.room("volume") + "/not/mounted";
  home.settings.store = CodeStore{.claim = "team", .folder = nowhere};
  const auto code =
      prepare_code({.snapshot = tree::to_hex(home.id)}, home.settings, {home.folder, ""});
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().kind, Kind::not_found);
  EXPECT_NE(to_text(code.error()).find("claim team"), std::string::npos) << to_text(code.error());
  EXPECT_FALSE(std::filesystem::exists(nowhere));
}

TEST(CodeWays, WithoutCodeThereIsNoWay) {
  EXPECT_EQ(must(prepare_code({}, {}, {"/nowhere", ""})).from, CodeFrom::none);
}

PodRow row(int index, bool wants_code) {
  PodRow out;
  out.name = fmt::format("pod-{}", index);
  out.index = index;
  out.wants_code = wants_code;
  return out;
}

TEST(PodsToSend, OnlyTheFirstUnlessTheOthersCannotReachIt) {
  const auto now = steady_clock::now();
  Group group;
  group.pods = {row(0, true), row(1, true), row(2, true)};
  Member member;
  using Names = std::set<std::string>;
  EXPECT_EQ(pods_to_send(group, member, now), Names{"pod-0"});
  group.pods[0].wants_code = false;
  EXPECT_EQ(pods_to_send(group, member, now), Names{});
  member.first_ran = now - seconds(5);
  EXPECT_EQ(pods_to_send(group, member, now), Names{}) << "they are asking it";
  group.pods[2].is_deleting = true;
  member.first_ran = now - seconds(30);
  EXPECT_EQ(pods_to_send(group, member, now), Names{"pod-1"});
}

TEST(Tokens, FollowFromTheHomeAndTheAttemptAndFromNothingElse) {
  test::TempFolder one, two;
  const auto key = must(attempt_key(one.path()));
  EXPECT_EQ(key, must(attempt_key(one.path())));
  EXPECT_NE(key, must(attempt_key(two.path())));
  struct stat about{};
  ASSERT_EQ(::stat((one.path() / "attempt.key").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600U);
  EXPECT_EQ(attempt_token(key, "m-1-h-1"), attempt_token(key, "m-1-h-1"));
  EXPECT_NE(attempt_token(key, "m-1-h-1"), attempt_token(key, "m-1-h-2"));
  EXPECT_EQ(attempt_token(key, "m-1-h-1").size(), 40U);
}

TEST(Tokens, OpenTheirOwnCodeUntilSomethingOfTheAttemptHasEnded) {
  Roster roster;
  roster.change("a", [](Member& member) {
    member.token = "token-a";
    member.snapshot = "code-a";
  });
  roster.change("b", [](Member& member) {
    member.token = "token-b";
    member.snapshot = "code-b";
  });
  roster.change("none", [](Member& member) { member.token = "token-c"; });
  EXPECT_TRUE(roster.admits("token-a", "code-a"));
  EXPECT_FALSE(roster.admits("token-a", "code-b"));
  EXPECT_FALSE(roster.admits("token-b", "code-a"));
  EXPECT_FALSE(roster.admits("", ""));
  EXPECT_FALSE(roster.admits("token-c", ""));
  roster.change("a", [](Member& member) { member.acknowledged.insert(1); });
  EXPECT_FALSE(roster.admits("token-a", "code-a"));
  roster.change("b", [](Member& member) { member.stop_why = "abort"; });
  EXPECT_FALSE(roster.admits("token-b", "code-b"));
}

}  // namespace
}  // namespace muster::pods
