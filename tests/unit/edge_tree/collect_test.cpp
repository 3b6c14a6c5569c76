#include "edge/tree/collect.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <set>

#include "core/tree/pack.hpp"
#include "edge/tree/verify.hpp"
#include "unit/edge_tree/lab.hpp"

namespace muster::test {
namespace {

snapshot::Collected collect(Lab& lab, const std::set<tree::Hash>& wanted) {
  return must(
      snapshot::collect(lab.blobs(), [&](const tree::Hash& id) { return wanted.contains(id); }));
}

/// Some files that only this snapshot has, and one that all have.
tree::Hash send_version(Lab& lab, int version, std::size_t size = 50'000) {
  Rng rng(static_cast<std::uint64_t>(version));
  lab.remove("own");
  for (int i = 0; i < 4; ++i) lab.file(fmt::format("own/{}", i), noise(rng, size));
  lab.file("shared", "in all of them");
  const auto sent = lab.send();
  must(snapshot::unpin(lab.blobs(), sent.pin));
  return sent.id;
}

std::uint64_t bytes_in(Lab& lab) {
  std::uint64_t sum = 0;
  for (const auto& [name, size] : lab.objects("v1/")) sum += size;
  return sum;
}

TEST(Collect, KeepsWhatIsWantedAndFreesTheRest) {
  Lab lab;
  const auto first = send_version(lab, 1);
  const auto picture = picture_of(lab.top());
  const auto second = send_version(lab, 2);
  const auto before = bytes_in(lab);
  const auto done = collect(lab, {first});
  EXPECT_EQ(done.trees, 1U);
  EXPECT_GT(done.bytes, 190'000U);
  EXPECT_LT(bytes_in(lab), before - 190'000);
  EXPECT_EQ(difference(picture, lab.restored(first)), "");
  EXPECT_FALSE(lab.objects("v1/trees/").contains("v1/trees/" + tree::to_hex(second)));
  EXPECT_TRUE(must(snapshot::verify(lab.blobs(), false)).faults.empty());
}

TEST(Collect, NothingWantedLeavesNothing) {
  Lab lab;
  send_version(lab, 1);
  collect(lab, {});
  EXPECT_TRUE(lab.objects("v1/").empty());
}

TEST(Collect, APinKeepsASnapshotForADay) {
  Lab lab;
  lab.file("f", "pinned");
  const auto sent = lab.send();
  collect(lab, {});
  EXPECT_EQ(difference(picture_of(lab.top()), lab.restored(sent.id)), "");
  const timespec old[] = {{1, 0}, {1, 0}};
  const auto pin = lab.store() + "/v1/pins/" + sent.pin;
  ASSERT_EQ(::utimensat(AT_FDCWD, pin.c_str(), old, 0), 0);
  collect(lab, {});
  EXPECT_TRUE(lab.objects("v1/").empty());
}

TEST(Collect, APoorPackIsWrittenAnewAndTheOldOneGoes) {
  Lab lab;
  Rng rng(5);
  const auto kept = noise(rng, 2'000'000);
  lab.file("kept", kept);
  for (int i = 0; i < 8; ++i) lab.file(fmt::format("dropped{}", i), noise(rng, 700'000));
  must(snapshot::unpin(lab.blobs(), lab.send().pin));
  for (int i = 0; i < 8; ++i) lab.remove(fmt::format("dropped{}", i));
  const auto sent = lab.send();
  const auto done = collect(lab, {sent.id});
  EXPECT_GE(done.packs, 1U);
  EXPECT_LT(bytes_in(lab), 2'100'000U);
  EXPECT_EQ(difference(picture_of(lab.top()), lab.restored(sent.id)), "");
  EXPECT_EQ(collect(lab, {sent.id}).packs, 0U);
}

TEST(Collect, SmallPacksBecomeOne) {
  Lab lab;
  std::set<tree::Hash> all;
  for (int version = 1; version <= 12; ++version) all.insert(send_version(lab, version, 2000));
  EXPECT_EQ(lab.objects("v1/packs/").size(), 12U);
  collect(lab, all);
  EXPECT_EQ(lab.objects("v1/packs/").size(), 1U);
  EXPECT_TRUE(must(snapshot::verify(lab.blobs(), false)).faults.empty());
  EXPECT_EQ(collect(lab, all).packs, 0U);
}

TEST(Collect, APackOfManyTinyChunksIsNotSmall) {
  Lab lab;
  tree::Hash id;
  for (const char* folder : {"first", "second"}) {
    for (int i = 0; i < 9000; ++i)
      lab.file(fmt::format("{}/{}", folder, i), fmt::format("{} {}", folder, i));
    id = lab.send().id;
  }
  const auto packs = lab.objects("v1/packs/");
  ASSERT_GE(packs.size(), 2U);
  for (const auto& [name, size] : packs) ASSERT_LT(size, tree::kPackSize / 4) << name;
  collect(lab, {id});
  EXPECT_EQ(lab.objects("v1/packs/"), packs) << "they are written anew each time";
}

TEST(Collect, WhatTwoPacksHaveIsKeptOnce) {
  Lab lab;
  // A collector that was killed after the new pack and before the old ones went.
  const auto id = send_version(lab, 1, 1'500'000);
  std::map<std::string, std::string> old;
  lab.file("more", "makes the first pack poor");
  for (const auto& [name, size] : lab.objects("v1/packs/"))
    old[name] = must(lab.blobs().get(name, 0, size));
  const auto other = send_version(lab, 2, 1'500'000);
  collect(lab, {id, other});
  for (const auto& [name, bytes] : old) must(lab.blobs().put(name, bytes));
  collect(lab, {id, other});
  EXPECT_LT(bytes_in(lab), 12'200'000U);
  EXPECT_TRUE(must(snapshot::verify(lab.blobs(), false)).faults.empty());
}

TEST(Collect, GivesWayToASender) {
  Lab lab;
  lab.file("f");
  lab.send();
  const auto held = must(lab.blobs().lock(BlobStore::LockKind::shared));
  const auto done = snapshot::collect(lab.blobs(), [](const tree::Hash&) { return false; });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, Kind::unavailable);
  EXPECT_EQ(lab.objects("v1/trees/").size(), 1U);
}

TEST(Collect, ASecondCollectorGivesWayToo) {
  Lab lab;
  const auto id = send_version(lab, 1);
  bool was_asked = false;
  must(snapshot::collect(lab.blobs(), [&](const tree::Hash&) {
    was_asked = true;
    const auto second = snapshot::collect(lab.blobs(), [](const tree::Hash&) { return false; });
    EXPECT_TRUE(!second && second.error().kind == Kind::unavailable);
    return true;
  }));
  EXPECT_TRUE(was_asked);
  EXPECT_EQ(difference(picture_of(lab.top()), lab.restored(id)), "");
}

TEST(Collect, AfterwardsACacheOfWhatWentSendsItAgain) {
  Lab lab;
  const auto id = send_version(lab, 1);
  lab.let_the_clock_tick();
  collect(lab, {});
  const auto again = lab.send();
  EXPECT_EQ(again.id, id);
  EXPECT_EQ(again.new_chunks, 5U);
  EXPECT_EQ(difference(picture_of(lab.top()), lab.restored(id)), "");
}

}  // namespace
}  // namespace muster::test
