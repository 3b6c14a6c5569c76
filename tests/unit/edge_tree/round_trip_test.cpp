#include <rapidcheck/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "edge/tree/restore.hpp"
#include "unit/edge_tree/lab.hpp"

namespace muster::test {
namespace {

RC_GTEST_PROP(RoundTrip, WhatIsSentComesBackBitByBit, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto size = *rc::gen::inRange(0, 60);
  Lab lab;
  make_strange_tree(lab, seed, size);
  const auto before = picture_of(lab.top());
  auto how = lab.options();
  how.use_ignore_rules = false;
  const auto sent = snapshot::send_tree(lab.blobs(), how);
  RC_ASSERT(sent.has_value());
  RC_ASSERT(difference(before, lab.restored(sent->id)) == "");
  RC_ASSERT(sent->root.entries == before.size());
}

TEST(RoundTrip, EveryModeOfFilesAndFolders) {
  Lab lab;
  for (unsigned mode = 0; mode < 01000; ++mode) {
    lab.file(fmt::format("files/{:03o}", mode), fmt::format("{}", mode), mode);
    lab.file(fmt::format("folders/{:03o}/inside", mode));
    lab.dir(fmt::format("folders/{:03o}", mode), mode);
  }
  EXPECT_EQ(difference(picture_of(lab.top()), lab.restored(lab.send().id)), "");
}

TEST(RoundTrip, SetUserIdAndItsLikeAreNotKept) {
  Lab lab;
  lab.file("plain", "x", 0755);
  const auto plain = lab.send().id;
  lab.file("plain", "x", 06755);
  EXPECT_EQ(lab.send().id, plain);
}

TEST(RoundTrip, NamesAsLongAndFoldersAsDeepAsTheyCome) {
  Lab lab;
  std::string deep;
  for (int i = 0; i < 60; ++i) deep += fmt::format("level{}/", i);
  lab.file(deep + "bottom", "far down");
  lab.file(std::string(255, 'n'), "long");
  lab.file("new\nline", "1");
  lab.file("not \xff\xfe utf-8", "2");
  lab.dir("empty");
  lab.file("nothing", "");
  EXPECT_EQ(difference(picture_of(lab.top()), lab.restored(lab.send().id)), "");
}

TEST(RoundTrip, AFolderIn900FoldersNeedsFewDescriptors) {
  Lab lab;
  std::string deep;
  for (int i = 0; i < 900; ++i) deep += "d/";
  lab.file(deep + "bottom", "far down");
  lab.file("e/after", "up again");
  lab.file("d/d/z", "on the way");
  const auto id = lab.send().id;
  const auto to = lab.room("to");
  EXPECT_EQ(in_child([&] {
              const rlimit few{100, 100};
              snapshot::Chunks chunks(lab.blobs());
              const bool is_done = ::setrlimit(RLIMIT_NOFILE, &few) == 0 &&
                                   snapshot::restore(chunks, id, to).has_value();
              return is_done ? 0 : 1;
            }),
            0);
  EXPECT_EQ(difference(picture_of(lab.top()), picture_of(to)), "");
}

TEST(RoundTrip, LinksLeadWhereTheyDid) {
  Lab lab;
  lab.link("out", "/etc/passwd");
  lab.link("up", "../../..");
  lab.link("dangling", "no/such/thing");
  lab.link("self", "self");
  lab.link("folder", "real");
  lab.file("real/file", "through");
  EXPECT_EQ(difference(picture_of(lab.top()), lab.restored(lab.send().id)), "");
}

TEST(RoundTrip, HolesTakeNoRoom) {
  Lab lab;
  for (const auto size : {512 << 10, 1 << 20, 60 << 20}) {
    const auto name = fmt::format("hole{}", size);
    lab.file(name, "begin");
    ASSERT_EQ(::truncate(lab.path(name).c_str(), size), 0);
  }
  const auto sent = lab.send();
  EXPECT_LT(sent.stored_bytes, 20'000U);
  EXPECT_EQ(difference(picture_of(lab.top()), lab.restored(sent.id)), "");
}

TEST(RoundTrip, TheSameBytesAreStoredOnce) {
  Lab lab;
  Rng rng(1);
  const auto bytes = noise(rng, 100'000);
  for (int i = 0; i < 50; ++i) lab.file(fmt::format("copy{}", i), bytes);
  const auto sent = lab.send();
  EXPECT_EQ(sent.new_chunks, 1U);
  EXPECT_LT(sent.stored_bytes, 120'000U);
}

TEST(RoundTrip, AnInsertionIntoALargeFileSendsFewChunks) {
  Lab lab;
  Rng rng(2);
  auto bytes = noise(rng, 24 << 20);
  lab.file("large", bytes);
  const auto first = lab.send();
  EXPECT_GT(first.new_chunks, 10U);
  bytes.insert(12 << 20, "a few bytes more");
  lab.file("large", bytes);
  EXPECT_LE(lab.send().new_chunks, 2U);
}

TEST(RoundTrip, AnEmptyFolderIsASnapshotToo) {
  Lab lab;
  const auto sent = lab.send();
  EXPECT_EQ(sent.root.entries, 0U);
  EXPECT_TRUE(lab.restored(sent.id).empty());
}

TEST(RoundTrip, WhatIsNoFileIsLeftOutAndListed) {
  Lab lab;
  lab.file("file");
  ASSERT_EQ(::mkfifo(lab.path("pipe").c_str(), 0600), 0);
  const auto sent = lab.send();
  EXPECT_EQ(sent.specials, std::vector<std::string>{"pipe"});
  EXPECT_EQ(sent.root.entries, 1U);
}

TEST(RoundTrip, FoldersOneNamesAreLeftOut) {
  Lab lab;
  lab.file("code/a");
  lab.file("home/store/b");
  auto how = lab.options();
  how.leave_out = {lab.path("home"), "/somewhere/else"};
  const auto sent = must(snapshot::send_tree(lab.blobs(), how));
  const auto back = lab.restored(sent.id);
  EXPECT_TRUE(back.contains("code/a"));
  EXPECT_FALSE(back.contains("home"));
}

TEST(RoundTrip, RestoredOnceForAll) {
  Lab lab;
  lab.file("a/b", "bytes", 0444);
  const auto sent = lab.send();
  const auto trees = lab.room("trees");
  const auto folder = must(snapshot::restore_once(lab.blobs(), sent.id, trees));
  EXPECT_EQ(difference(picture_of(lab.top()), picture_of(folder)), "");
  struct stat before{}, after{};
  ASSERT_EQ(::stat((folder + "/a/b").c_str(), &before), 0);
  EXPECT_EQ(must(snapshot::restore_once(lab.blobs(), sent.id, trees)), folder);
  ASSERT_EQ(::stat((folder + "/a/b").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
}

TEST(RoundTrip, ATreeOfAnEarlierBootIsMadeAnew) {
  Lab lab;
  lab.file("a", "bytes");
  const auto sent = lab.send();
  const auto trees = lab.room("trees");
  const auto folder = must(snapshot::restore_once(lab.blobs(), sent.id, trees));
  std::ofstream(folder + "/a") << "torn by a power loss";
  std::ofstream(folder + ".boot") << "another boot";
  EXPECT_EQ(must(snapshot::restore_once(lab.blobs(), sent.id, trees)), folder);
  EXPECT_EQ(difference(picture_of(lab.top()), picture_of(folder)), "");
}

}  // namespace
}  // namespace muster::test
